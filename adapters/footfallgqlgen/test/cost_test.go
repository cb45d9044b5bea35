package footfallgqlgen_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
)

// measure returns queries through a bare server, and through one with a rule, its event and the context value.
func measure(tb testing.TB) (bare, wrapped func()) {
	const body = `{"query":"query Products {products}"}`
	asking := func(h http.Handler) func() {
		return func() {
			r := httptest.NewRequest(http.MethodPost, "/query", io.NopCloser(bytes.NewReader([]byte(body))))
			r.Header.Set("Content-Type", jsonType)
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	rule := footfall.Rule{Route: "query Products", Event: "products_viewed", Status: footfall.Success}
	watch := footfallgqlgen.Middleware(adaptertest.Tracker(tb), rule)
	return asking(newServer(new(atomic.Int32))), asking(watch(newServer(new(atomic.Int32))))
}

func TestTheMiddlewareAllocatesAtMostTwelve(t *testing.T) { // not parallel: it counts
	bare, wrapped := measure(t)
	adaptertest.Allocations(t, bare, wrapped, 12)
}

func BenchmarkGqlgen(b *testing.B) {
	bare, wrapped := measure(b)
	adaptertest.Benchmark(b, bare, wrapped)
}
