package adaptertest

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/footfall-dev/footfall"
)

// Tracker returns a tracker with the default batches and a Transport of almost no cost, to
// measure the cost of an adapter for a request. The Transport runs at the same time and
// shares cores and a lock with the request; this is part of the figure.
func Tracker(tb testing.TB) *footfall.Tracker {
	tb.Helper()
	tracker, err := footfall.New(footfall.Config{
		SiteID: "site_1", Transport: nowhere{}, Logger: slog.New(slog.DiscardHandler),
		MaxQueueEvents: 1 << 20, MaxQueueBytes: 1 << 30,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tracker.Close(context.Background()) }) // nothing can be lost
	return tracker
}

// nowhere is a Transport that takes all events and drops them.
type nowhere struct{}

// Deliver implements footfall.Transport.
func (nowhere) Deliver(ctx context.Context, src *footfall.Source) {
	batch := make([]footfall.Record, 100)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(batch); n > 0; n = src.Take(batch) {
			src.Settle(batch[:n], footfall.OutcomeDelivered, nil)
		}
	}
}

// Measure returns requests through a bare application, and through one with a rule for
// POST /checkout/{id}, its event and the context value.
func (s Subject) Measure(tb testing.TB, pathProps ...string) (bare, wrapped func()) {
	if s.Pattern == nil {
		s.Pattern = func(pattern string) string { return pattern }
	}
	serving := func(watch func(App)) func() {
		a := s.New()
		watch(a)
		a.Handle(nil, "POST", s.Pattern("/checkout/{id}"), func(Context) error { return nil })
		return Requests(s.Handler(a), "POST", "/checkout/7")
	}
	rule := footfall.Rule{Route: "POST " + s.Pattern("/checkout/{id}"), Event: "checkout_completed", Status: footfall.Success, PathProps: pathProps}
	return serving(func(App) {}), serving(func(a App) { a.Watch(Tracker(tb), rule) })
}

// Requests returns a function that sends a new request for path through handler, into a
// writer that costs nothing, as a server with this handler does.
func Requests(handler http.Handler, method, path string) func() {
	template := http.Request{
		Method: method, Host: "shop.example.com", URL: &url.URL{Path: path}, RequestURI: path,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header), RemoteAddr: "192.0.2.1:4711",
	}
	ctx := context.WithValue(context.Background(), http.ServerContextKey, &http.Server{Handler: handler})
	fromServer := template.WithContext(ctx)
	w := &nullWriter{header: make(http.Header)}
	return func() {
		r := *fromServer
		handler.ServeHTTP(w, &r)
	}
}

type nullWriter struct{ header http.Header }

func (w *nullWriter) Header() http.Header         { return w.header }
func (w *nullWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *nullWriter) WriteHeader(int)             {}

// AllocatesAtMost tests that a request costs at most so many allocations more than without the
// adapter.
func (s Subject) AllocatesAtMost(t *testing.T, most float64, pathProps ...string) {
	t.Helper()
	bare, wrapped := s.Measure(t, pathProps...)
	Allocations(t, bare, wrapped, most)
}

// Benchmark measures requests without the adapter and with it.
func (s Subject) Benchmark(b *testing.B) {
	bare, wrapped := s.Measure(b)
	Benchmark(b, bare, wrapped)
}

// Allocations fails if wrapped allocates more than most above bare, exactly.
func Allocations(t *testing.T, bare, wrapped func(), most float64) {
	t.Helper()
	const warm, runs = 2000, 5000
	for range warm { // pools fill, slabs grow
		bare()
		wrapped()
	}
	below, above := testing.AllocsPerRun(runs, bare), testing.AllocsPerRun(runs, wrapped)
	t.Logf("%.0f allocations above the %.0f of the bare handler", above-below, below)
	if above-below > most {
		t.Errorf("%.0f allocations above the bare handler, promised are %.0f", above-below, most)
	}
}

// Benchmark runs both, under the names that `make bench` needs for its table.
func Benchmark(b *testing.B, bare, wrapped func()) {
	for _, one := range []struct {
		name string
		run  func()
	}{{"bare", bare}, {"wrapped", wrapped}} {
		b.Run(one.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				one.run()
			}
		})
	}
}
