package adaptertest

import (
	"context"
	"net/http"
	"strings"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

// tenantKey is the key of a text in the context of a request.
type tenantKey struct{}

func propsOfTheRequest(s *Stage) {
	calls := 0
	rule := Seen(s.Route("/page"))
	rule.Props = []footfall.Prop{footfall.P("kind", "page")}
	rule.PropsOf = func(r *http.Request) []footfall.Prop {
		calls++
		tenant, _ := r.Context().Value(tenantKey{}).(string)
		return []footfall.Prop{
			footfall.P("tenant", tenant), footfall.P("variant", r.Header.Get("X-Variant")), footfall.P("path", r.URL.Path),
			footfall.P("long", strings.Repeat("x", 5000)), footfall.P("bad", "a\x00b"), footfall.P("n", 7),
		}
	}
	s.App.Use(func(c Context, next func() error) error {
		c.SetContext(context.WithValue(c.Context(), tenantKey{}, "acme"))
		return next()
	})
	s.Watch(rule)
	s.On("/page", Fine)
	s.On("/other", Fine)
	s.Get("/page", "X-Variant", "b")
	s.Get("/other", "X-Variant", "b")
	events := s.Expect("seen")
	assert.Equal(s, 1, calls, "only for an event of the rule")
	assert.Equal(s, map[string]any{
		"kind": "page", "tenant": "acme", "variant": "b", "path": s.Service + "/page",
		"long": strings.Repeat("x", 1000), "bad": "a\ufffdb", "n": 7.0,
	}, events[0].Props)
}

func namesLeaveOutAPrefix(s *Stage) {
	prefix, inside := "/api", "/api"
	if s.Service != "" {
		prefix, inside = s.Service, ""
	}
	rule := anyRoute
	rule.TrimPrefix = prefix
	s.Watch(rule)
	s.On(inside+"/products", Fine)
	s.On("/apis", Fine)
	s.Get(inside + "/products")
	s.Get("/apis")
	method := strings.ToLower(s.Method())
	s.Expect(method+"_products", method+"_apis")
}

func anyRouteLeavesOutPrograms(s *Stage) {
	s.Watch(footfall.Rule{Route: s.Route("/livez"), Event: "probed"}, anyRoute)
	paths := []string{"/robots.txt", "/healthz", "/livez", "/metrics", "/debug/vars", "/page"}
	for _, path := range paths {
		s.On(path, Fine)
	}
	for _, path := range paths {
		s.Get(path)
	}
	s.Expect("probed", "get_page")
}
