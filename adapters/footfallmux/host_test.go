package footfallmux_test

import (
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/gorilla/mux"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallmux"
)

func TestTheAdapterBehavesLikeTheOthers(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]bool{"Wrap": true, "Use": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adaptertest.Behave(t, adaptertest.Framework{
				New: func() adaptertest.App { return &app{wrap: wrap} },
				Values: []adaptertest.Values{
					{Pattern: "/orgs/{org}/teams/{team:[a-z]+}", Path: "/orgs/acme/teams/red", Want: map[string]any{"org": "acme", "team": "red"}},
				},
				Impossible: map[string]string{
					"the request is the original without a context value":           "mux makes a copy of each request",
					"middlewares above see the same request as without the adapter": "a middleware of net/http has its own request, which none below can replace",
				},
			})
		})
	}
}

// app is a router as an application of adaptertest.Behave. The router is made when it is
// served, because Wrap needs the routes and Use the middlewares.
type app struct {
	wrap    bool
	track   func(router *mux.Router) http.Handler // nil without the middleware
	above   []mux.MiddlewareFunc                  // the outermost first
	compose []func(*mux.Router)
}

var words = adaptertest.Plain{
	Value: func(r *http.Request, name string) string { return mux.Vars(r)[name] },
	Track: footfallmux.Track,
}

func (a *app) add(m mux.MiddlewareFunc) {
	if a.wrap && a.track == nil {
		a.above = append(a.above, m)
		return
	}
	a.compose = append(a.compose, func(router *mux.Router) { router.Use(m) })
}

func (a *app) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	if a.wrap {
		a.track = func(router *mux.Router) http.Handler { return footfallmux.Wrap(tracker, router, rules...) }
		return
	}
	a.compose = append(a.compose, func(router *mux.Router) { watch(router, tracker, rules) })
}

func (a *app) Use(m adaptertest.Middleware) { a.add(words.Middleware(m)) }
func (a *app) Recover()                     { a.add(adaptertest.PlainRecovery) }
func (a *app) Refuse()                      { a.add(adaptertest.Deny) }

func (a *app) Handle(prefix, method, pattern string, h adaptertest.Handler) {
	a.compose = append(a.compose, func(router *mux.Router) {
		if prefix != "" {
			router = router.PathPrefix(prefix).Subrouter()
		}
		router.Handle(pattern, words.Handler(h)).Methods(method)
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

func (a *app) server() adaptertest.Server {
	router := a.router()
	var h http.Handler = router
	if a.track != nil {
		h = a.track(router)
	}
	for _, m := range slices.Backward(a.above) {
		h = m(h)
	}
	return adaptertest.Server{Handler: h}
}

func (a *app) Serve(l net.Listener) (stop func() error) { return a.server().Serve(l) }
func (a *app) Direct(tb testing.TB, path string)        { a.server().Direct(tb, path) }
