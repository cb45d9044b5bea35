package footfallgin_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallgin"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode) // for the whole process
	os.Exit(m.Run())
}

// subject returns the adapter with this version of gin.
func subject() adaptertest.Subject {
	s := adaptertest.Subject{
		Readme:  "../README.md",
		New:     newApp,
		Handler: func(a adaptertest.App) http.Handler { return a.(app).engine },
		Pattern: adaptertest.Replace(":", "*rest"), Opaque: true, AbortStatus: abortStatus(),
		Values: []adaptertest.Values{
			{Pattern: "/depots/:depot/files/*path", Path: "/depots/3/files/a/b%20c", Want: map[string]any{"depot": "3", "path": "/a/b c"}},
		},
		Known: "GET /users/:id", Register: func(a adaptertest.App) {
			adaptertest.RegisterColons(a)
			engine := a.(app).engine
			engine.Static("/assets", os.TempDir())
			engine.POST(`/users\:batch`, nothing)
		},
		Checks: append(adaptertest.Colons(),
			adaptertest.Check{Name: "static files", Rule: footfall.Rule{Route: "GET /assets/*filepath", PathProps: []string{"filepath"}}},
			adaptertest.Check{Name: "a colon that is none of a wildcard", Rule: footfall.Rule{Route: "POST /users:batch"}}),
		Impossible: map[string]string{
			"103 and then 404 is recorded as 404": "through gin's writer, which sends no informational answer: it keeps the last status of WriteHeader until the answer begins",
		},
	}
	s.Nested = []footfalltest.Nested{
		s.ComposeBare("the middleware on a group", "GET", "/api/users/7", "GET /api/users/:id", func(a adaptertest.App, of footfalltest.App, h adaptertest.Handler) {
			a.(app).engine.Group("/api", use(of)...).GET("/users/:id", handler(h))
		}),
		s.ComposeBare("the middleware on a route", "DELETE", "/users/7", "DELETE /users/:id", func(a adaptertest.App, of footfalltest.App, h adaptertest.Handler) {
			a.(app).engine.DELETE("/users/:id", append(use(of), handler(h))...)
		}),
		s.Compose("a wildcard that begins within a segment", "GET", "/reports/year_2026", "GET /reports/year_:year", func(a adaptertest.App, h adaptertest.Handler) {
			a.Handle(nil, "GET", "/reports/year_:year", h)
		}),
		s.Compose("an escaped path", "GET", "/tags/a%2Fb", "GET /tags/:tag", func(a adaptertest.App, h adaptertest.Handler) { a.Handle(nil, "GET", "/tags/:tag", h) }),
	}
	if changesStatus() {
		const why = "this version of gin changes the status of an answer that has begun"
		s.Impossible["an error after a flush is recorded with the status that the client saw"] = why
		s.Impossible["a hijacked connection is a success even if the handler fails, and a refused upgrade is not"] = why
	}
	if colonsAreEscaped() {
		s.Nested = append(s.Nested, s.Compose("a colon that is none of a wildcard", "POST", "/users:batch", "POST /users:batch", func(a adaptertest.App, h adaptertest.Handler) {
			a.Handle(nil, "POST", `/users\:batch`, h)
		}))
	}
	return s
}

// use returns the middleware of an application of the suite; none if it has no tracker.
func use(of footfalltest.App) []gin.HandlerFunc {
	if of.Tracker == nil {
		return nil
	}
	return []gin.HandlerFunc{footfallgin.Middleware(of.Tracker, of.Rules...)}
}

// colonsAreEscaped reports whether this version of gin takes \: for a colon, also below a
// handler of net/http.
func colonsAreEscaped() bool {
	engine := gin.New()
	engine.POST(`/users\:batch`, nothing)
	return ask(engine, "POST", "/users:batch").Code == http.StatusOK
}

func TestAdapterPassesTheMiddlewareSuite(t *testing.T) { adaptertest.Conform(t, subject()) }

func TestTheAdapterBehavesLikeTheOthers(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, subject())
}

// gin lists routes in another form before the first request and after it.
func TestCheckRulesAsksTheEngineAfterTheFirstRequest(t *testing.T) {
	t.Parallel()
	s := subject()
	a := s.New()
	s.Register(a)
	a.Direct(t, "/")
	tracker := footfalltest.New(t).Tracker
	check := func(rules ...footfall.Rule) error { return a.CheckRules(tracker, rules...) }
	adaptertest.CheckRules(t, check, s.Known, [2]string{"GET /a", "GET /b"}, s.Checks)
}

func TestARequestCostsAtMostFiveAllocations(t *testing.T) {
	subject().AllocatesAtMost(t, 5)
	subject().AllocatesAtMost(t, 5, "id")
}

func BenchmarkGin(b *testing.B) { subject().Benchmark(b) }
