package lean_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/lean"
)

func ExampleNewTracker() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := lean.NewTracker(api.Config()) // in place of footfall.New
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tracker.Track(context.Background(), "order_paid", footfall.P("amount", 4999)); err != nil {
		fmt.Println(err)
	}
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.Props)
	}
	// Output:
	// order_paid map[amount:4999]
}

func ExampleNew() {
	_, err := lean.New(footfall.Config{
		BaseURL: "https://api.example.com", APIKey: "secret",
		HTTPClient: http.DefaultClient, // lean does not use net/http
	})
	if wrong, ok := errors.AsType[*footfall.FieldError](err); ok {
		fmt.Println(wrong.Field)
	}
	// Output:
	// Config.HTTPClient
}
