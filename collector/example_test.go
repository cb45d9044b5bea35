package collector_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/sqlite"
)

// A program serves the whole service: the API, the script for browsers and the dashboard.
func Example() {
	ctx, stop := context.WithCancel(context.Background()) // or signal.NotifyContext
	defer stop()
	dir, err := os.MkdirTemp("", "stats")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, sqlite.Config{File: filepath.Join(dir, "footfall.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := collector.New(ctx, collector.Config{Store: st})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- c.Serve(ctx, listener) }()

	// The dashboard adds sites and issues keys. A program does the same with Account.
	site, err := c.Account().AddSite(ctx, "Shop", "shop.example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	key, _, err := c.Account().IssueKey(ctx, "backend")
	if err != nil {
		fmt.Println(err)
		return
	}
	event := `{"site_id":"` + site.ID + `","name":"order_paid","url":"https://shop.example.com/checkout"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+listener.Addr().String()+"/v1/events", strings.NewReader(event))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.Status) // the event is on disk

	stop()
	fmt.Println(<-served, c.Close(context.Background()), st.Close())
	// Output:
	// 202 Accepted
	// <nil> <nil> <nil>
}
