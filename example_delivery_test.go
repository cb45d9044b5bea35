package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func ExampleCloseError() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	api.Always(footfalltest.Status(503)) // an outage
	cfg := api.Config()
	cfg.Logger = slog.New(slog.DiscardHandler)
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.Track(context.Background(), "order_paid"); err != nil {
		fmt.Println(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err = tracker.Close(ctx)
	if account, ok := errors.AsType[*footfall.CloseError](err); ok {
		fmt.Println("lost", account.Lost, "delivered", account.Delivered)
	}
	if answer, ok := errors.AsType[*footfall.APIError](err); ok {
		fmt.Println("because of status", answer.Status)
	}
	// Output:
	// lost 1 delivered 0
	// because of status 503
}

func ExampleTracker_Flush() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tracker.Close(context.Background()) }()
	for range 3 {
		if err := tracker.Track(context.Background(), "row_imported"); err != nil {
			fmt.Println(err)
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(tracker.Flush(ctx), len(api.Events()))
	// Output:
	// <nil> 3
}

func ExampleTracker_Stats() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	api.Next(footfalltest.Status(422)) // the API refuses one event
	cfg := api.Config()
	cfg.Logger = slog.New(slog.DiscardHandler)
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_ = tracker.Track(ctx, "order_paid", footfall.P("mail", "jane@example.com"))
	_ = tracker.Track(ctx, "order_paid")
	_ = tracker.Track(ctx, "") // an error: an event needs a name
	if err := tracker.Close(ctx); err != nil {
		fmt.Println(err)
	}
	s := tracker.Stats()
	fmt.Println("tracked", s.Tracked, "delivered", s.Delivered, "rejected", s.Rejected)
	fmt.Println("invalid", s.Invalid, "redacted", s.Redacted)
	// Output:
	// tracked 2 delivered 1 rejected 1
	// invalid 1 redacted 1
}

func ExampleRejectedError() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	api.Next(footfalltest.Status(422)) // the API refuses the event
	cfg := api.Config()
	cfg.OnRejected = func(rejected *footfall.RejectedError) {
		fmt.Printf("%s\n", rejected.Body)
	}
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.Track(context.Background(), "order_paid"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(tracker.Close(context.Background()))
	// Output:
	// {"site_id":"site_test","name":"order_paid","url":"https://example.com/"}
	// <nil>
}

func ExampleClient() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: api.URL, APIKey: footfalltest.Key})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	sites, err := client.Sites(ctx)
	if err != nil || len(sites) == 0 {
		fmt.Println("no site", err)
		return
	}
	err = client.Send(ctx, footfall.Event{SiteID: sites[0].ID, Name: "invoice_paid", URL: "https://shop.example.com/"})
	fmt.Println("sent:", err == nil)

	_, err = client.Site(ctx, "site_unknown")
	fmt.Println("not found:", errors.Is(err, footfall.ErrNotFound))
	// Output:
	// sent: true
	// not found: true
}

// lines is a Transport that writes each event as a line.
type lines struct{ w io.Writer }

func (l lines) Deliver(ctx context.Context, src *footfall.Source) {
	records := make([]footfall.Record, 100)
	for {
		if _, ok := src.Wait(ctx); !ok {
			return
		}
		for n := src.Take(records); n > 0; n = src.Take(records) {
			for _, r := range records[:n] {
				_, _ = fmt.Fprintf(l.w, "%s\n", r.Body)
			}
			src.Settle(records[:n], footfall.OutcomeDelivered, nil)
		}
	}
}

func ExampleTransport() {
	tracker, err := footfall.New(footfall.Config{
		BaseURL: "https://api.example.com", APIKey: "secret", SiteID: "site_1",
		Transport: lines{os.Stdout},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := footfall.WithURL(context.Background(), "https://shop.example.com/checkout")
	if err := tracker.Track(ctx, "order_paid", footfall.P("amount", 4999)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(tracker.Close(context.Background()))
	// Output:
	// {"site_id":"site_1","name":"order_paid","url":"https://shop.example.com/checkout","props":{"amount":4999}}
	// <nil>
}
