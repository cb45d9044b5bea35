package docs

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func serve(set *footfall.Rules, route string, subtree bool, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	visit := set.Visit(r)
	visit.SetRoute(route) // if the router knows it before the handler
	wrapped := visit.Writer(w)
	returned := false
	defer func() {
		panicked := recover()
		status := visit.Status()
		if panicked != nil {
			status = http.StatusInternalServerError
		}
		err, _ := panicked.(error)
		visit.End(footfall.Observation{
			Route:   route,
			Subtree: subtree, // the route also matches longer paths
			Status:  status,
			Aborted: errors.Is(err, http.ErrAbortHandler) || panicked == nil && !returned, // or runtime.Goexit
			Header:  w.Header(),
			Path:    visit.Request(), // or the framework's values of the wildcards
		})
		if panicked != nil {
			panic(panicked)
		}
	}()
	next(wrapped, visit.Request())
	returned = true
}

// guided returns app behind the middleware that docs/adapters.md shows.
func guided(_ testing.TB, app footfalltest.App) http.Handler {
	mux := http.NewServeMux()
	for _, route := range app.Routes {
		handler := route.Handler
		if route.Fail != 0 {
			handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "failed", route.Fail) })
		}
		mux.Handle(route.Method+" "+route.Pattern, handler)
	}
	if app.Tracker == nil {
		return mux
	}
	set := app.Tracker.Rules(app.Rules...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		serve(set, pattern, strings.HasSuffix(pattern, "/"), w, r, mux.ServeHTTP)
	})
}

func TestMiddlewareOfTheGuideForAdaptersPassesTheSuite(t *testing.T) { // which sets the environment, so it is not parallel
	footfalltest.RunMiddleware(t, footfalltest.Subject{
		Handler: guided,
		Nested: []footfalltest.Nested{{
			Name: "one router", Method: "GET", Path: "/users/7", Route: "/users/{id}",
			Handler: func(tb testing.TB, app footfalltest.App) http.Handler {
				app.Routes = []footfalltest.Route{{Method: "GET", Pattern: "/users/{id}", Handler: app.Routes[0].Handler}}
				return guided(tb, app)
			},
		}},
		Impossible: map[string]string{"a WebSocket upgrade works": "the middleware of the guide has no WebSocket library"},
	})
	guide, own := readFile(t, "docs/adapters.md"), readFile(t, "e2e/docs/guide_test.go")
	_, begin, _ := strings.Cut(own, "\nfunc serve(")
	serve, _, _ := strings.Cut(begin, "\n}\n")
	assert.Contains(t, guide, "```go\nfunc serve("+serve+"\n}\n```")
}
