//go:build ci

package middleware

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

func TestEveryMiddlewarePassesTheRequestOn(t *testing.T) {
	all, end, err := wrappers()
	defer end()
	require.NoError(t, err)
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			for _, place := range []func(http.Handler) http.Handler{direct, below} {
				reached := 0
				w.prepare()
				requester(place(w.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					reached++
					assert.Equal(t, "/orders/42", r.URL.Path)
					_, hijacks := w.(http.Hijacker)
					assert.True(t, hijacks || func() bool { _, unwraps := w.(interface{ Unwrap() http.ResponseWriter }); return unwraps }())
				}))))()
				assert.Equal(t, 1, reached)
			}
		})
	}
}

func TestFootfallsRuleMakesAnEventForEachRequestOfItsRoute(t *testing.T) {
	tracker, err := newTracker(true)
	require.NoError(t, err)
	once := requester(tracker.Middleware(footfall.Rule{Route: route, Event: "order_viewed"})(mux()))
	other := requester(tracker.Middleware(footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"})(mux()))
	for range 10 {
		once()
		other()
	}
	require.NoError(t, tracker.Close(t.Context()))
	assert.EqualValues(t, 10, tracker.Stats().Delivered)
}

// A few requests fit into every queue, so a reported drop would be an error.
func TestDropsInTheBackgroundAreReported(t *testing.T) {
	all, end, err := wrappers()
	defer end()
	require.NoError(t, err)
	_, err = measure(t.Context(), 1, 20, all, direct)
	require.NoError(t, err)
	end()
	counted := 0
	for i := range all {
		for _, note := range all[i].notes() {
			assert.NotContains(t, note, "dropped")
		}
		if w := &all[i]; w.arrived != nil {
			counted++
			assert.Positive(t, w.arrived())
			w.requests += 7
			assert.Contains(t, w.notes(), fmt.Sprintf("%s dropped 7 of the %d requests that it should have reported.", w.name, w.requests))
		}
	}
	assert.Equal(t, 4, counted)
}

func TestCostOfAMiddlewareIsMeasured(t *testing.T) {
	slow := wrapper{name: "slow", wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for start := time.Now(); time.Since(start) < 200*time.Microsecond; {
			}
			garbage = new([64]byte)
			next.ServeHTTP(w, r)
		})
	}}
	found, err := measure(t.Context(), 5, 200, []wrapper{slow, {wrap: direct}}, direct)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, found[0].ns, 150_000.0)
	assert.InDelta(t, 1, found[0].allocs, 0)
	assert.Less(t, found[1].ns, found[0].ns/2)
	assert.InDelta(t, 0, found[1].allocs, 0)
}

var garbage *[64]byte
