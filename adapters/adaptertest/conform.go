package adaptertest

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/footfalltest"
)

// Conform runs the conformance suite of footfalltest with a real WebSocket library, which
// footfalltest does not import. The test is not parallel, because the row about uploads sets an
// environment variable. Subject.Readme must contain the reason of each impossible row.
func Conform(t *testing.T, s Subject) {
	t.Helper()
	if s.Pattern == nil {
		s.Pattern = func(pattern string) string { return pattern }
	}
	f := footfalltest.Subject{
		Pattern: s.Pattern, Tracks: true, Impossible: make(map[string]string), Nested: append(s.compositions(), s.Nested...),
		WebSocket: footfalltest.WebSocket{Echo: http.HandlerFunc(echo), Send: Send},
	}
	for name, why := range s.Impossible {
		if slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			continue // of Run
		}
		f.Impossible[name] = why
		readme, err := os.ReadFile(cmp.Or(s.Readme, "README.md"))
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), why) {
			t.Errorf("README.md does not say of %q: %s (%v)", name, why, err)
		}
	}
	if s.Handler != nil {
		f.Handler = func(_ testing.TB, of footfalltest.App) http.Handler { return s.Handler(s.application(of)) }
	} else {
		f.Serve = func(tb testing.TB, of footfalltest.App, l net.Listener) func() {
			return s.until(tb, s.application(of), l)
		}
	}
	footfalltest.RunMiddleware(t, f)
}

// hosted returns an application with the middlewares of a conformance suite's application.
func (s Subject) hosted(of footfalltest.App) App {
	a := s.New()
	if s.Host != nil {
		s.Host(a, of)
	}
	watching(a, of)
	return a
}

// watching adds the adapter's middleware, unless the suite's application has no tracker.
func watching(a App, of footfalltest.App) {
	if of.Tracker != nil {
		a.Watch(of.Tracker, of.Rules...)
	}
}

func (s Subject) application(of footfalltest.App) App {
	a := s.hosted(of)
	for _, r := range of.Routes {
		a.Handle(nil, r.Method, s.Pattern(r.Pattern), func(c Context) error {
			if r.Event != "" {
				_ = c.Track(r.Event) // the row misses the event
			}
			if r.Fail != 0 {
				return c.Fail(r.Fail)
			}
			return c.Serve(r.Handler)
		})
	}
	return a
}

// until serves an application until stop is called, or the test ends.
func (s Subject) until(tb testing.TB, a App, l net.Listener) (stop func()) {
	end := a.Serve(l, nil)
	stop = sync.OnceFunc(func() { assert.NoError(tb, end()) })
	tb.Cleanup(stop)
	return stop
}

// Compose returns a way to compose routers. add adds the handler to an application.
func (s Subject) Compose(name, method, path, route string, add func(a App, h Handler)) footfalltest.Nested {
	return s.ComposeBare(name, method, path, route, func(a App, of footfalltest.App, h Handler) {
		if s.Host != nil {
			s.Host(a, of)
		}
		watching(a, of)
		add(a, h)
	})
}

// ComposeBare is Compose for an application without a middleware, which add adds.
func (s Subject) ComposeBare(name, method, path, route string, add func(a App, of footfalltest.App, h Handler)) footfalltest.Nested {
	n := footfalltest.Nested{Name: name, Method: method, Path: path, Route: route}
	application := func(of footfalltest.App) App {
		a := s.New()
		add(a, of, func(c Context) error { return c.Serve(of.Routes[0].Handler) })
		return a
	}
	if s.Handler != nil {
		n.Handler = func(_ testing.TB, of footfalltest.App) http.Handler { return s.Handler(application(of)) }
	} else {
		n.Serve = func(tb testing.TB, of footfalltest.App, l net.Listener) func() {
			return s.until(tb, application(of), l)
		}
	}
	return n
}

// compositions are the ways to compose routers that all frameworks have.
func (s Subject) compositions() []footfalltest.Nested {
	all := make([]footfalltest.Nested, 0, 12)
	for _, c := range []struct {
		name, method, path string
		groups             []string
		pattern            string
	}{
		{"a group", "GET", "/api/users/7", []string{"/api"}, "/users/{id}"},
		{"groups in groups", "POST", "/api/v1/users/7", []string{"/api", "/v1"}, "/users/{id}"},
		{"a group with a wildcard", "POST", "/shops/3/carts/9", []string{"/shops/{shop}"}, "/carts/{cart}"},
		{"groups with wildcards", "GET", "/orgs/a/teams/b/members", []string{"/orgs/{org}", "/teams/{team}"}, "/members"},
		{"a catch-all", "GET", "/files/a/b.css", nil, "/files/{rest...}"},
	} {
		for i, group := range c.groups {
			c.groups[i] = s.Pattern(group)
		}
		route := c.method + " " + strings.Join(c.groups, "") + s.Pattern(c.pattern)
		all = append(all, s.Compose(c.name, c.method, c.path, route, func(a App, h Handler) { a.Handle(c.groups, c.method, s.Pattern(c.pattern), h) }))
	}
	all = append(all, s.Compose("a route of any method", "PATCH", "/hooks", "PATCH /hooks", func(a App, h Handler) { a.Handle(nil, "", "/hooks", h) }))
	if s.UseHTTP != nil {
		all = append(all, s.Compose("a middleware of net/http below that copies the request", "POST", "/users/7", "POST "+s.Pattern("/users/{id}"), func(a App, h Handler) {
			s.UseHTTP(a, Copying)
			a.Handle(nil, "POST", s.Pattern("/users/{id}"), h)
		}))
	}
	if s.Handler != nil {
		all = append(all, s.mounted()...)
	}
	return all
}

// mounted are the ways to mount an application in others as a handler of net/http.
func (s Subject) mounted() []footfalltest.Nested {
	route, users := "GET "+s.Pattern("/api/users/{id}"), s.Pattern("/users/{id}")
	in := func(watchInner bool) func(App, footfalltest.App, Handler) {
		return func(a App, of footfalltest.App, h Handler) {
			inner := s.New()
			if watchInner {
				watching(inner, of)
			} else {
				watching(a, of)
			}
			inner.Handle(nil, "GET", s.Pattern("/api/users/{id}"), h)
			a.Handle(nil, "", s.Pattern("/api/{rest...}"), func(c Context) error { return c.Serve(s.Handler(inner)) })
		}
	}
	below := func(name, pattern string, outer func(http.Handler) http.Handler) footfalltest.Nested {
		n := s.Compose(name, "GET", "/api/users/7", "GET "+users, func(a App, h Handler) { a.Handle(nil, "GET", users, h) })
		inner := n.Handler
		n.Handler = func(tb testing.TB, of footfalltest.App) http.Handler {
			mux := http.NewServeMux()
			mux.Handle(pattern, outer(inner(tb, of)))
			return mux
		}
		return n
	}
	host := below("a router for a host of a mux", "shop.example.com/", func(h http.Handler) http.Handler { return h })
	host.Host, host.Path = "shop.example.com", "/users/7"
	all := []footfalltest.Nested{
		below("a router below StripPrefix, whose routes have no prefix", "/api/", func(h http.Handler) http.Handler { return http.StripPrefix("/api", h) }),
		host,
	}
	if s.Opaque {
		all = append(all,
			s.ComposeBare("a router mounted in a router, with the middleware inside", "GET", "/api/users/7", route, in(true)),
			s.ComposeBare("a router mounted in a router, with the middleware outside", "GET", "/api/users/7", "GET "+s.Pattern("/api/{rest...}"), in(false)))
	}
	return all
}

// Copying is a middleware of net/http that copies the request.
func Copying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.WithContext(r.Context())) })
}

// Replace returns a Subject.Pattern for routers that write a wildcard {name} as before
// and the name, such as :name, and {rest...} as rest.
func Replace(before, rest string) func(pattern string) string {
	return strings.NewReplacer("{rest...}", rest, "{", before, "}", "").Replace
}

// ReplaceRest is Replace for routers that write a wildcard {name} as net/http does.
func ReplaceRest(rest string) func(pattern string) string {
	return strings.NewReplacer("{rest...}", rest).Replace
}

// echo sends one message back.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // answered by Accept
	}
	defer conn.CloseNow()
	kind, text, err := conn.Read(r.Context())
	if err != nil {
		return // the client sees it
	}
	if err := conn.Write(r.Context(), kind, text); err == nil {
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
}

// Send sends a message by WebSocket and returns the answer.
func Send(ctx context.Context, url, text string) (string, error) {
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return "", err
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return "", err
	}
	_, answer, err := conn.Read(ctx)
	return string(answer), err
}
