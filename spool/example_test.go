package spool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

func ExampleOpen() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	dir, err := os.MkdirTemp("", "events") // such as /var/lib/shop/events
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	tracker, _, err := spool.Open(api.Config(), spool.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = tracker.TrackDurable(context.Background(), footfall.Event{Name: "order_paid"})
	fmt.Println("on disk:", err == nil)
	if err := tracker.Flush(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("delivered:", len(api.Events()))
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// on disk: true
	// delivered: 1
}

func ExampleSpool_Stats() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	dir, err := os.MkdirTemp("", "events") // such as /var/lib/shop/events
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	// The process ends in an outage.
	api.Always(footfalltest.Status(503))
	cfg := api.Config()
	cfg.Logger = slog.New(slog.DiscardHandler)
	settings := spool.Config{Dir: dir, Logger: cfg.Logger}
	tracker, _, err := spool.Open(cfg, settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.TrackDurable(context.Background(), footfall.Event{Name: "order_paid"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("close:", tracker.Close(context.Background()), "stored:", tracker.Stats().Stored)

	// The next process delivers the events of the file.
	api.Always(nil)
	tracker, store, err := spool.Open(cfg, settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.Flush(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("adopted:", store.Stats().Adopted, "delivered:", store.Stats().Delivered)
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// close: <nil> stored: 1
	// adopted: 1 delivered: 1
}

func ExampleNew() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	dir, err := os.MkdirTemp("", "events") // such as /var/lib/shop/events
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	next, err := footfall.NewHTTPTransport(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := spool.New(spool.Config{Dir: dir, Next: next})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer first.Close()

	_, err = spool.New(spool.Config{Dir: dir, Next: next}) // such as a second process
	fmt.Println(errors.Is(err, spool.ErrLocked))
	// Output:
	// true
}
