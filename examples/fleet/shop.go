package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/stream"
)

// closeTimeout is how long a shop that stops publishes the events that are left.
const closeTimeout = 30 * time.Second

// runShop runs a shop, which takes orders by HTTP. It prints the number of each order whose event
// is Stored.
func runShop(ctx context.Context, _ []string) error {
	cfg := footfall.ConfigFromEnv()
	cfg.PublicURL = "https://" + domain
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("ready", "http://"+listener.Addr().String())
	server := &http.Server{Handler: tracker.Middleware()(http.HandlerFunc(takeOrder)), ReadHeaderTimeout: 5 * time.Second}
	return tracker.Run(ctx, listening{server, listener})
}

// takeOrder answers 204 if the order's event is tracked.
func takeOrder(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.FormValue("number"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := footfall.Track(r.Context(), "order_placed", propsOf(number)...); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// listening is a footfall.Server with an open listener.
type listening struct {
	*http.Server
	listener net.Listener
}

func (l listening) ListenAndServe() error { return l.Serve(l.listener) }

// reporting is a Stream that prints each event when it is Stored. Only the fleet's account
// needs it.
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
		var event struct {
			Props struct{ Thousand, Order int }
		}
		if o == footfall.Stored && json.Unmarshal(r.Body, &event) == nil {
			fmt.Println("stored", 1000*event.Props.Thousand+event.Props.Order)
		}
	}
	s.Source.Settle(records, o, err)
}
