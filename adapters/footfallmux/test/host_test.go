package footfallmux_test

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallmux"
)

// app is a router as an application of the tests. The router is made when it is served, because
// Wrap needs the routes and Use the middlewares.
type app struct {
	adaptertest.Layers
	wrap    bool
	compose []func(*mux.Router)
	track   func(*mux.Router) http.Handler // nil without Wrap
}

func newApp(wrap bool) func() adaptertest.App {
	return func() adaptertest.App {
		a := &app{wrap: wrap, Layers: adaptertest.Layers{Plain: words}}
		a.Inner = func() http.Handler {
			if router := a.router(); a.track == nil {
				return router
			} else {
				return a.track(router)
			}
		}
		if !wrap {
			a.Into = a.use
		}
		return a
	}
}

var words = &adaptertest.Plain{
	Value: func(r *http.Request, name string) string { return mux.Vars(r)[name] },
	Track: footfallmux.Track,
}

func (a *app) use(m func(http.Handler) http.Handler) {
	a.compose = append(a.compose, func(router *mux.Router) { router.Use(m) })
}

func (a *app) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	if !a.wrap {
		a.compose = append(a.compose, func(router *mux.Router) { watch(router, tracker, rules) })
		return
	}
	a.track = func(router *mux.Router) http.Handler { return footfallmux.Wrap(tracker, router, rules...) }
	a.Into = a.use
}

func (a *app) Handle(groups []string, method, pattern string, h adaptertest.Handler) {
	a.compose = append(a.compose, func(router *mux.Router) {
		for _, prefix := range groups {
			router = router.PathPrefix(prefix).Subrouter()
		}
		route := router.Handle(pattern, words.Handler(h))
		if method != "" {
			route.Methods(method)
		}
	})
}

func (a *app) router() *mux.Router {
	router := mux.NewRouter()
	for _, fill := range a.compose {
		fill(router)
	}
	return router
}

func (a *app) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return footfallmux.CheckRules(tracker, a.router(), rules...)
}
