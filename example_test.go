package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func ExampleP() {
	type Plan string
	for _, p := range []footfall.Prop{
		footfall.P("plan", Plan("pro")),
		footfall.P("amount", 4999),
		footfall.P("rate", 0.19),
	} {
		fmt.Printf("%s=%v\n", p.Key(), p.Value())
	}
	// Output:
	// plan=pro
	// amount=4999
	// rate=0.19
}

func ExamplePropsFromMap() {
	_, err := footfall.PropsFromMap(map[string]any{"plan": "pro", "trial": true, "seats": nil})
	fmt.Println(err)
	// Output:
	// footfall: props["seats"]: a <nil> is neither a string nor a number
	// footfall: props["trial"]: a bool is neither a string nor a number
}

func ExampleNew() {
	_, err := footfall.New(footfall.Config{BaseURL: "http://api.example.com", MaxInFlight: -1})
	fmt.Println(err)
	// Output:
	// footfall: Config.BaseURL: plain http would send the API key in clear: use https, or set AllowHTTP (FOOTFALL_ALLOW_HTTP=true)
	// footfall: Config.APIKey: empty: set it to an API key of the account (FOOTFALL_API_KEY)
	// footfall: Config.SiteID: empty: set it to the id of a site of the account (FOOTFALL_SITE_ID)
	// footfall: Config.MaxInFlight: negative
}

func ExampleTracker_Middleware() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /products/{id}", func(w http.ResponseWriter, r *http.Request) {
		_ = footfall.Track(r.Context(), "stock_checked", footfall.P("left", 3))
	})
	handler := tracker.Middleware(
		footfall.Rule{Route: "GET /products/{id}", Event: "product_viewed", PathProps: []string{"id"}},
	)(mux)

	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "https://shop.example.com/products/7?utm_source=mail&token=x", nil))
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, name := range []string{"product_viewed", "stock_checked"} {
		for _, e := range api.Events() {
			if e.Name == name {
				fmt.Println(e.Name, e.URL, e.Props)
			}
		}
	}
	// Output:
	// product_viewed https://shop.example.com/products/7?utm_source=mail map[id:7]
	// stock_checked https://shop.example.com/products/7?utm_source=mail map[left:3]
}

func ExamplePrefix() {
	tracker, err := footfall.New(footfall.Config{BaseURL: "https://api.example.com", APIKey: "secret", SiteID: "site_1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tracker.Close(context.Background()) }()

	registered := []string{"GET /api/v2/users/:id"} // by a router whose prefix is configured
	rule := footfall.Rule{Route: "GET /users/:id", Event: "user_viewed"}
	fmt.Println(tracker.CheckRoutes(registered, rule))
	fmt.Println(tracker.CheckRoutes(registered, footfall.Prefix("/api/v2", rule)...))
	// Output:
	// footfall: Rule{"GET /users/:id"}.Route: not registered in the router; the nearest is GET /api/v2/users/:id: give the rules its prefix, as footfall.Prefix("/api/v2", rules...) does
	// <nil>
}

func ExampleTracker_Run() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = footfall.Track(footfall.WithTracker(context.Background(), tracker), "started")

	mux := http.NewServeMux()
	mux.HandleFunc("GET /pricing", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{
		Addr:              "127.0.0.1:0",
		Handler:           tracker.Middleware(footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"})(mux),
		ReadHeaderTimeout: 5 * time.Second,
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond) // or SIGTERM, for months
	defer cancel()
	err = tracker.Run(ctx, server)
	if account, ok := errors.AsType[*footfall.CloseError](err); ok {
		fmt.Println("lost", account.Lost)
	}
	fmt.Println("delivered", tracker.Stats().Delivered, err)
	// Output:
	// delivered 1 <nil>
}

// tlsServer is a server that Run serves by TLS.
type tlsServer struct {
	*http.Server
	certFile, keyFile string
}

func (s tlsServer) ListenAndServe() error { return s.ListenAndServeTLS(s.certFile, s.keyFile) }

func ExampleTracker_Run_tls() {
	var tracker *footfall.Tracker // of footfall.New
	server := tlsServer{&http.Server{Addr: "127.0.0.1:0", ReadHeaderTimeout: 5 * time.Second}, "cert.pem", "key.pem"}
	err := tracker.Run(context.Background(), server)
	fmt.Println(err)
	// Output:
	// open cert.pem: no such file or directory
}

func ExampleTracker_TrackDurable() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tracker.Close(context.Background()) }()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = tracker.TrackDurable(ctx, footfall.Event{
		Name:  "order_paid",
		URL:   "https://shop.example.com/checkout",
		Props: []footfall.Prop{footfall.P("amount", 4999)},
	})
	fmt.Println("safe:", err == nil)
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL, e.Props)
	}
	// Output:
	// safe: true
	// order_paid https://shop.example.com/checkout map[amount:4999]
}

func ExampleWithSite() {
	api := footfalltest.StartAPI() // in place of the Site Analytics API
	defer api.Close()
	api.Always(footfalltest.Accept()) // events of any site
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /pricing", func(http.ResponseWriter, *http.Request) {})
	tracked := tracker.Middleware(footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"})(mux)
	siteOf := map[string]string{"shop.example.com": "site_shop", "blog.example.com": "site_blog"}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tracked.ServeHTTP(w, r.WithContext(footfall.WithSite(r.Context(), siteOf[r.Host])))
	})

	for _, host := range []string{"shop.example.com", "blog.example.com"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "https://"+host+"/pricing", nil))
	}
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.SiteID, e.Name, e.URL)
	}
	// Unordered output:
	// site_shop pricing_viewed https://shop.example.com/pricing
	// site_blog pricing_viewed https://blog.example.com/pricing
}

func ExampleOutcome_String() {
	for _, o := range []footfall.Outcome{footfall.OutcomeLost, footfall.OutcomeDelivered, footfall.OutcomeRejected, footfall.OutcomeStored} {
		fmt.Println(o)
	}
	// Output:
	// lost
	// delivered
	// rejected
	// stored
}
