package footfalltest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func ExampleStartAPI() {
	api := footfalltest.StartAPI()
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.Track(context.Background(), "demo_started", footfall.P("seats", 3)); err != nil {
		fmt.Println(err)
	}
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.SiteID, e.Name, e.URL, e.Props)
	}
	// Output:
	// site_test demo_started https://example.com/ map[seats:3]
}

func ExampleAPI_Next() {
	api := footfalltest.StartAPI()
	defer api.Close()
	api.Next(footfalltest.Status(503)) // the first attempt fails
	cfg := api.Config()
	cfg.BackoffMin = time.Millisecond
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.Track(context.Background(), "order_paid"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(tracker.Flush(context.Background()))
	requests := api.Requests()
	fmt.Println("requests:", len(requests), "the same id:", requests[0].ID == requests[1].ID)
	fmt.Println("events:", len(api.Events()))
	_ = tracker.Close(context.Background())
	// Output:
	// <nil>
	// requests: 2 the same id: true
	// events: 1
}

func ExampleAcceptThenReset() {
	api := footfalltest.StartAPI()
	defer api.Close()
	api.Next(footfalltest.AcceptThenReset()) // accepted, but the answer is lost
	cfg := api.Config()
	cfg.BackoffMin = time.Millisecond
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.Track(context.Background(), "order_paid"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(tracker.Flush(context.Background()))
	fmt.Println("attempts:", len(api.Requests()), "counted:", len(api.Events()))
	_ = tracker.Close(context.Background())
	// Output:
	// <nil>
	// attempts: 2 counted: 1
}

func ExampleAPI_SetKey() {
	api := footfalltest.StartAPI()
	defer api.Close()
	api.SetKey("another key") // the tracker's key is refused
	client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: api.URL, APIKey: footfalltest.Key})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Sites(context.Background())
	if answer, ok := errors.AsType[*footfall.APIError](err); ok {
		fmt.Println(answer.Status, answer.Code)
	}
	// Output:
	// 401 unauthorized
}

func ExampleLog() {
	var logged footfalltest.Log
	tracker, err := footfall.New(footfall.Config{
		BaseURL: "https://api.example.com", APIKey: "secret", SiteID: "site_1",
		Logger: logged.Logger(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = tracker.Track(context.Background(), "order_paid") // on no page
	_ = tracker.Close(context.Background())
	fmt.Println("lines:", logged.Lines(slog.LevelWarn))
	// Output:
	// lines: 1
}
