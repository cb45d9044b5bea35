package footfallchi_test

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
)

// app is a router as an application of the tests.
type app struct {
	adaptertest.Layers
	*chi.Mux
	around bool // the middleware and what is above it stand around the router
}

func newApp(around bool) func() adaptertest.App {
	return func() adaptertest.App {
		router := chi.NewRouter()
		a := &app{adaptertest.Layers{Plain: words, Inner: func() http.Handler { return router }}, router, around}
		if !around {
			a.Into = func(m handlers) { router.Use(m) }
		}
		return a
	}
}

var words = &adaptertest.Plain{Value: chi.URLParam, Track: footfallchi.Track}

func (a *app) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.Add(footfallchi.Middleware(tracker, rules...))
	a.Into = func(m handlers) { a.Mux.Use(m) }
}

func (a *app) Use(m adaptertest.Middleware) { a.Layers.Use(m) }

func (a *app) Handle(groups []string, method, pattern string, h adaptertest.Handler) {
	var in chi.Router = a.Mux
	for _, prefix := range groups {
		in = in.Route(prefix, func(chi.Router) {})
	}
	if method == "" {
		in.Handle(pattern, words.Handler(h))
		return
	}
	in.Method(method, pattern, words.Handler(h))
}

func (a *app) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return footfallchi.CheckRules(tracker, a.Mux, rules...)
}
