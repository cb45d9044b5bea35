package fiberpattern

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

func TestPatternsAreCanonical(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"/":                                "/",
		"/products/:id":                    "/products/:id",
		"/opt/:key?":                       "/opt/:key?",
		"/items/:id<int>":                  "/items/:id<int>",
		"/files/*":                         "/files/*",
		"/files/*/:token":                  "/files/*/:token",
		"/help/+":                          "/help/{+...}",
		"/c++":                             "/c+{+...}",
		"/flights/:from-:to":               "/flights/{from}-:to",
		"/dl/:token.zip":                   "/dl/{token}.zip",
		"/days/:day<len(2)>.:month":        "/days/{day<len(2)>}.:month",
		"/on/:at<datetime(2006-01-02)>":    "/on/:at<datetime(2006-01-02)>",
		"/on/:at<datetime(2006/01)>":       "/on/{at<datetime(2006/01)>}",
		"/colon/\\:id":                     "/colon/\\:id",
		"/on/:at<regex(a\\>b)>/comments/+": "/on/:at<regex(a\\>b)>/comments/{+...}",
	} {
		assert.Equal(t, want, Canonical(pattern), pattern)
	}
}

func TestRulesAreCopiedWithCanonicalPatterns(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{{Route: "GET /dl/:token.zip", Event: "downloaded"}, {Route: footfall.AnyRoute}}
	assert.Equal(t, []footfall.Rule{{Route: "GET /dl/{token}.zip", Event: "downloaded"}, {Route: footfall.AnyRoute}}, Rules(rules))
	assert.Equal(t, "GET /dl/:token.zip", rules[0].Route)
}

func TestARuleMayApplyToTheRoutesThatItNames(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules      []footfall.Rule
		asked, not []string
	}{
		"a path with a method": {[]footfall.Rule{{Route: "GET /a/:b"}}, []string{"/a/:b"}, []string{"/a", "/*"}},
		"a path":               {[]footfall.Rule{{Route: "/a"}}, []string{"/a"}, []string{"/b"}},
		"AnyRoute":             {[]footfall.Rule{{Route: footfall.AnyRoute}}, []string{"/a", "/*"}, nil},
		"NoRoute":              {[]footfall.Rule{{Route: footfall.NoRoute}}, []string{"/*", "/help/{+...}"}, []string{"/a"}},
		"no rule":              {nil, nil, []string{"/a", "/*"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			named := NamedBy(tt.rules)
			for _, path := range tt.asked {
				assert.True(t, named.Asked(path), path)
			}
			for _, path := range tt.not {
				assert.False(t, named.Asked(path), path)
				assert.False(t, Named(nil).Asked(path), path)
			}
		})
	}
}
