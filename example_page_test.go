package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func ExampleWithURL() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	cfg := api.Config()
	cfg.DefaultURL = "" // of events without a page
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}

	// A worker has no request, so its context has no page.
	err = tracker.Track(context.Background(), "order_packed")
	fmt.Println("no page:", errors.Is(err, footfall.ErrNoURL))

	job := footfall.WithURL(context.Background(), "https://shop.example.com/orders/7")
	if err := tracker.Track(job, "order_packed"); err != nil {
		fmt.Println(err)
	}
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL)
	}
	// Output:
	// no page: true
	// order_packed https://shop.example.com/orders/7
}

func ExampleTracker_TrackEvent() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	err = tracker.TrackEvent(context.Background(), footfall.Event{
		Name:  "order_shipped",
		URL:   "https://shop.example.com/orders/7",
		Props: []footfall.Prop{footfall.P("carrier", "bike"), footfall.P("parcels", 2)},
	})
	if err != nil {
		fmt.Println(err)
	}
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL, e.Props)
	}
	// Output:
	// order_shipped https://shop.example.com/orders/7 map[carrier:bike parcels:2]
}

func ExampleTracker_TrackRequest() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = tracker.TrackRequest(r, "coupon_applied") // needs no middleware
	})
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "https://shop.example.com/basket?session=x", nil))
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL)
	}
	// Output:
	// coupon_applied https://shop.example.com/basket
}

func ExampleTracker_CheckRules() {
	tracker, err := footfall.New(footfall.Config{BaseURL: "https://api.example.com", APIKey: "secret", SiteID: "site_1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tracker.Close(context.Background()) }()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /products/{id}", func(http.ResponseWriter, *http.Request) {})
	fmt.Println(tracker.CheckRules(mux, footfall.Rule{Route: "GET /products/{id}", Event: "product_viewed"}))
	err = tracker.CheckRules(mux, footfall.Rule{Route: "GET /product/{id}", Event: "product_viewed"})
	if wrong, ok := errors.AsType[*footfall.FieldError](err); ok {
		fmt.Println(wrong.Field)
	}
	// Output:
	// <nil>
	// Rule{"GET /product/{id}"}.Route
}

// tinyRouter is a router whose routes http.ServeMux does not know.
type tinyRouter map[string]http.HandlerFunc

func (t tinyRouter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler, ok := t[r.URL.Path]; ok {
		handler(w, r)
		return
	}
	http.NotFound(w, r)
}

// route returns the pattern that a request matched. No pattern is a subtree or has wildcards.
func (t tinyRouter) route(r *http.Request) (pattern string, subtree bool, values footfall.PathValuer) {
	if _, ok := t[r.URL.Path]; ok {
		pattern = r.URL.Path
	}
	return pattern, false, nil
}

func ExampleRules_Wrap() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	router := tinyRouter{"/pricing": func(http.ResponseWriter, *http.Request) {}}
	rules := tracker.Rules(footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"})
	handler := rules.Wrap(router, router.route) // the middleware of an adapter
	for _, path := range []string{"/pricing", "/missing"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "https://shop.example.com"+path, nil))
	}
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL)
	}
	// Output:
	// pricing_viewed https://shop.example.com/pricing
}
