package footfall_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestPropsOfSeesTheRequestOfTheHandler(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{
		Route: "GET /products/{id}", Event: "seen", PathProps: []string{"id"}, StatusProp: "status",
		PropsOf: func(r *http.Request) []footfall.Prop {
			return []footfall.Prop{footfall.P("plan", r.Header.Get("X-Plan")), footfall.P("wildcard", r.PathValue("id")), footfall.P("id", "last")}
		},
	}}}.open(t, muxOf("GET /products/{id}"))
	site.do(t, "GET", "/products/7", "X-Plan", "pro")
	require.Len(t, site.events(), 1)
	assert.Equal(t, map[string]any{"plan": "pro", "wildcard": "7", "id": "last", "status": 200.0}, site.events()[0].Props)
}

func TestPropsOfThatPanicsIsHarmless(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(){"a panic": func() { panic("boom") }, "the end of the goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log footfalltest.Log
			tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = log.Logger() })
			set := tracker.Rules(footfall.Rule{Route: "GET /a", PropsOf: func(*http.Request) []footfall.Prop { fails(); return nil }})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				r, _ := http.NewRequest("GET", "https://shop.example.com/a", nil)
				set.Observe(&footfall.Observation{Method: "GET", Route: "GET /a", Status: 200, Page: tracker.Page(r), Request: r})
			}()
			<-ended
			require.NoError(t, tracker.Close(t.Context()))
			assert.Empty(t, tracker.Names())
			assert.Eventually(t, func() bool { return strings.Contains(log.String(), "Rule.PropsOf") }, 10*time.Second, time.Millisecond)
		})
	}
}

// Not parallel: testing.AllocsPerRun counts the allocations of the whole process.
func TestARuleWithoutPropsOfAllocatesNothing(t *testing.T) {
	tracker := cheapTracker(t, false)
	props := []footfall.Prop{footfall.P("tenant", "acme"), footfall.P("n", 7)}
	observe := func(r footfall.Rule) float64 {
		set := tracker.Rules(r)
		request, err := http.NewRequest("GET", "https://shop.example.com/a", nil)
		require.NoError(t, err)
		o := footfall.Observation{Method: "GET", Route: "GET /a", Status: 200, Page: tracker.Page(request), Request: request}
		return testing.AllocsPerRun(5000, func() { set.Observe(&o) })
	}
	rule := footfall.Rule{Route: "GET /a", Event: "seen"}
	without := observe(rule)
	rule.PropsOf = func(*http.Request) []footfall.Prop { return props }
	with := observe(rule)
	t.Logf("%.0f allocations without PropsOf, %.0f with it", without, with)
	assert.Zero(t, without)
	assert.LessOrEqual(t, with, 2.0, "the list of the props")
}
