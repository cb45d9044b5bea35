package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
	"github.com/footfall-dev/footfall/stream"
)

// closeTimeout is how long a shop that stops publishes the events that are left.
const closeTimeout = 30 * time.Second

// runShop runs the shop of examples/shop. It prints the number of each event that is Stored.
func runShop(ctx context.Context, _ []string) error {
	cfg := footfall.ConfigFromEnv()
	cfg.PublicURL = "https://" + domain
	cfg.QueryKeys = []string{numberKey}
	cfg.CloseTimeout = closeTimeout
	published, err := stream.New(cfg, streamConfig())
	if err != nil {
		return err
	}
	cfg.Transport = reporting{published}
	tracker, err := footfall.New(cfg)
	if err != nil {
		return err
	}
	handler, err := storefront.New(tracker, nil, nil)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("ready", "http://"+listener.Addr().String())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	return tracker.Run(ctx, listening{server, listener})
}

// listening is a footfall.Server with an open listener.
type listening struct {
	*http.Server
	listener net.Listener
}

func (l listening) ListenAndServe() error { return l.Serve(l.listener) }

// reporting is a Stream that prints each event when it is Stored, for the fleet's ledger.
type reporting struct{ *stream.Stream }

// Deliver implements footfall.Transport.
func (t reporting) Deliver(ctx context.Context, src *footfall.Source) {
	next := footfall.NewSource(reported{src})
	var watching sync.WaitGroup
	watching.Go(func() {
		for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
			next.Wake()
		}
	})
	watching.Go(func() {
		select {
		case <-src.Closing():
			next.Close()
		case <-ctx.Done():
		}
	})
	t.Stream.Deliver(ctx, next)
	watching.Wait()
}

// reported is the tracker's queue, as a footfall.Store.
type reported struct{ *footfall.Source }

func (s reported) Retry(r footfall.Record, err error) (footfall.Record, bool) { return s.Keep(r, err) }

func (s reported) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	for _, r := range records {
		var e struct{ Name, URL string }
		if o == footfall.OutcomeStored && json.Unmarshal(r.Body, &e) == nil {
			fmt.Println("stored", numberOf(e.Name, e.URL))
		}
	}
	s.Source.Settle(records, o, err)
}
