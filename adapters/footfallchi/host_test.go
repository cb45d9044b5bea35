package footfallchi_test

import (
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
)

func TestTheAdapterBehavesLikeTheOthers(t *testing.T) {
	t.Parallel()
	for name, around := range map[string]bool{"around the router": true, "in Use": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adaptertest.Behave(t, adaptertest.Framework{
				New: func() adaptertest.App { return &app{router: chi.NewRouter(), around: around} },
				Values: []adaptertest.Values{
					{Pattern: "/orgs/{org}/teams/{team:[a-z]+}", Path: "/orgs/acme/teams/red", Want: map[string]any{"org": "acme", "team": "red"}},
				},
				Impossible: map[string]string{
					"the request is the original without a context value":           "chi makes a copy of each request",
					"middlewares above see the same request as without the adapter": "a middleware of net/http has its own request, which none below can replace; another test covers its fields",
				},
			})
		})
	}
}

// app is a router as an application of adaptertest.Behave.
type app struct {
	router *chi.Mux
	around bool       // the middleware and what is above it stand around the router
	outer  []handlers // the outermost first, the middleware last
}

var words = adaptertest.Plain{Value: chi.URLParam, Track: footfallchi.Track}

func (a *app) add(m handlers) {
	if a.around {
		a.outer = append(a.outer, m)
		return
	}
	a.router.Use(m)
}

func (a *app) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.add(footfallchi.Middleware(tracker, rules...))
	a.around = false
}

func (a *app) Use(m adaptertest.Middleware) { a.add(words.Middleware(m)) }
func (a *app) Recover()                     { a.add(adaptertest.PlainRecovery) }
func (a *app) Refuse()                      { a.add(adaptertest.Deny) }

func (a *app) Handle(prefix, method, pattern string, h adaptertest.Handler) {
	handler := words.Handler(h)
	if prefix == "" {
		a.router.Method(method, pattern, handler)
		return
	}
	a.router.Route(prefix, func(r chi.Router) { r.Method(method, pattern, handler) })
}

func (a *app) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return footfallchi.CheckRules(tracker, a.router, rules...)
}

func (a *app) server() adaptertest.Server {
	var h http.Handler = a.router
	for _, m := range slices.Backward(a.outer) {
		h = m(h)
	}
	return adaptertest.Server{Handler: h}
}

func (a *app) Serve(l net.Listener) (stop func() error) { return a.server().Serve(l) }
func (a *app) Direct(tb testing.TB, path string)        { a.server().Direct(tb, path) }
