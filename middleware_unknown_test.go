package footfall_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAMiddlewareBelowThatHidesThePatternIsLoggedOnce(t *testing.T) {
	every, named := footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: "GET /users/{id}"}
	mux := muxOf("GET /users/{id}", "GET /orders/{id}", "OPTIONS /orders/{id}")
	timeout := http.TimeoutHandler(mux, time.Hour, "")
	for name, tc := range map[string]struct {
		rules   []footfall.Rule
		next    http.Handler
		request string
		lines   int
	}{
		"a copy":                        {[]footfall.Rule{every}, copying(mux), "GET /orders/7", 1},
		"http.TimeoutHandler":           {[]footfall.Rule{every, named}, timeout, "GET /orders/7", 1},
		"a route that a rule names":     {[]footfall.Rule{every, named}, copying(mux), "GET /users/7", 0},
		"directly around the mux":       {[]footfall.Rule{every}, mux, "GET /orders/7", 0},
		"a request that is not copied":  {[]footfall.Rule{every}, below(mux), "GET /orders/7", 0},
		"no rule for AnyRoute":          {[]footfall.Rule{named}, copying(mux), "GET /orders/7", 0},
		"a 404":                         {[]footfall.Rule{every}, copying(mux), "GET /missing", 0},
		"a method that makes no events": {[]footfall.Rule{every}, copying(mux), "OPTIONS /orders/7", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log footfalltest.Log
				tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = log.Logger() })
				handler := tracker.Middleware(tc.rules...)(tc.next)
				for range 3 {
					method, path, _ := strings.Cut(tc.request, " ")
					handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
					synctest.Wait()
				}
				assert.Equal(t, tc.lines, log.Lines(slog.LevelWarn), log.String())
				if tc.lines > 0 {
					assert.Contains(t, log.String(), "put the tracker's middleware directly around the mux")
					assert.NotContains(t, log.String(), "orders")
				}
			})
		})
	}
}

func TestABlockedLogDelaysNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(stuckHandler{stuck}) })
		handler := tracker.Middleware(footfall.Rule{Route: footfall.AnyRoute})(copying(muxOf("GET /a")))
		began := time.Now()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/a", nil))
		assert.Zero(t, time.Since(began))
		close(stuck)
	})
}

// stuckHandler is a slog.Handler that writes nothing until it is closed.
type stuckHandler struct{ closed chan struct{} }

func (h stuckHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h stuckHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h stuckHandler) WithGroup(string) slog.Handler            { return h }
func (h stuckHandler) Handle(context.Context, slog.Record) error {
	<-h.closed
	return nil
}
