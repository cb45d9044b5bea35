package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// footfall: Config.MaxInFlight: -1 is negative; 0 is the default
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
