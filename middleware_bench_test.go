package footfall_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// BenchmarkMiddleware measures one request through a ServeMux with a writer that does nothing.
// The difference to the bare handler is the cost of the middleware.
func BenchmarkMiddleware(b *testing.B) {
	rule := footfall.Rule{Route: routeOfOneRequest, Event: "checkout_completed", Status: footfall.Success}
	other := footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"}
	b.Run("bare", func(b *testing.B) { benchmarkRequest(b, muxOf(routeOfOneRequest)) })
	for _, bench := range []struct {
		name    string
		noValue bool
		rules   []footfall.Rule
	}{
		{"no value, no rule", true, nil},
		{"no value, rule of another route", true, []footfall.Rule{other}},
		{"no value, rule and event", true, []footfall.Rule{rule}},
		{"value, no rule", false, nil},
		{"value, rule of another route", false, []footfall.Rule{other}},
		{"value, rule and event", false, []footfall.Rule{rule}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			mux := muxOf(routeOfOneRequest, "GET /pricing")
			benchmarkRequest(b, cheapTracker(b, bench.noValue).Middleware(bench.rules...)(mux))
		})
	}
	b.Run("value, rule and event, below another", func(b *testing.B) {
		benchmarkRequest(b, below(cheapTracker(b, false).Middleware(rule)(muxOf(routeOfOneRequest))))
	})
	b.Run("bare, plain route", func(b *testing.B) { benchmarkRequestFor(b, "/checkout", muxOf("POST /checkout")) })
	b.Run("value, rule and event, plain route", func(b *testing.B) {
		plain := footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success}
		benchmarkRequestFor(b, "/checkout", cheapTracker(b, false).Middleware(plain)(muxOf("POST /checkout")))
	})
	b.Run("value, Track inside", func(b *testing.B) {
		mux := mounted(routeOfOneRequest, http.HandlerFunc(trackInside))
		benchmarkRequest(b, cheapTracker(b, false).Middleware()(mux))
	})
	b.Run("no value, TrackRequest inside", func(b *testing.B) {
		tracker := cheapTracker(b, true)
		mux := mounted(routeOfOneRequest, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_ = tracker.TrackRequest(r, "coupon_applied", footfall.P("code", "SUMMER"), footfall.P("amount", 4999))
		}))
		benchmarkRequest(b, tracker.Middleware()(mux))
	})
}

func benchmarkRequest(b *testing.B, handler http.Handler) {
	b.Helper()
	benchmarkRequestFor(b, "/checkout/42", handler)
}

func benchmarkRequestFor(b *testing.B, path string, handler http.Handler) {
	b.Helper()
	b.ReportAllocs()
	request := requestFor(path, handler)
	for b.Loop() {
		request()
	}
}

// A file of 100 MB over loopback. The server uses sendfile, because the writer remains an
// io.ReaderFrom.
func BenchmarkDownload(b *testing.B) {
	file := filepath.Join(b.TempDir(), "film.bin")
	require.NoError(b, os.WriteFile(file, nil, 0o600))
	require.NoError(b, os.Truncate(file, 100<<20))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /film", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	rule := footfall.Rule{Route: "GET /film", Event: "film_downloaded"}
	for _, bench := range []struct {
		name    string
		handler http.Handler
	}{
		{"bare", mux},
		{"wrapped", cheapTracker(b, false).Middleware(rule)(mux)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			server := httptest.NewServer(bench.handler)
			defer server.Close()
			b.SetBytes(100 << 20)
			for b.Loop() {
				resp, err := server.Client().Get(server.URL + "/film")
				require.NoError(b, err)
				n, err := io.Copy(io.Discard, resp.Body)
				require.NoError(b, err)
				require.EqualValues(b, 100<<20, n)
				require.NoError(b, resp.Body.Close())
			}
		})
	}
}
