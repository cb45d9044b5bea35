package footfall

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/chars"
)

func TestRoutesAsPaths(t *testing.T) {
	t.Parallel()
	for route, want := range map[string]string{
		"":                         "/",
		"GET /":                    "/",
		"GET /{$}":                 "/",
		"POST /user/reset/{key}":   "/user/reset/%7Bkey%7D",
		"/user/reset/:key":         "/user/reset/%7Bkey%7D",
		"GET /files/{path...}":     "/files/%7Bpath%7D",
		"GET /files/*path":         "/files/%7Bpath%7D",
		"GET /files/*":             "/files/*",
		"GET /docs/":               "/docs/",
		"shop.example.com/a/{id}":  "/a/%7Bid%7D",
		"/a/{id:[0-9]{2,}/x}/b":    "/a/%7Bid%7D/b",
		"/a/:id<int>/b":            "/a/%7Bid%7D/b",
		"/a/:id?":                  "/a/%7Bid%7D",
		"/a/b-{id}.html":           "/a/b-%7Bid%7D.html",
		"/k\u00f6ln/{stra\u00dfe}": "/k%C3%B6ln/%7Bstra%C3%9Fe%7D",
		"/a b/{id}":                "/a%20b/%7Bid%7D",
		"/a%20b/{id}":              "/a%20b/%7Bid%7D",
		"/a/{id":                   "/a/%7B%7Did", // which no router takes
		"*":                        "/*",
		"/100%/{id}":               "/100%25/%7Bid%7D",
		"/shop.v1.CartService/Add": "/shop.v1.CartService/Add",
	} {
		assert.Equal(t, want, string(appendRoute(nil, route)), route)
	}
}

// Whatever routes and paths are, what is sent is text of a URL, and means a path.
func FuzzPathsOfPagesAreURLText(f *testing.F) {
	for _, seed := range [][2]string{
		{"/user/reset/secretkey123", "GET /user/reset/{key}"}, {"/a//b/", "/{a}/{b...}"}, {"/%ff%fe", "/:x/*y"},
		{"/a@b.example", "{"}, {"/", "GET /{$}"}, {"/a/V1StGXR8Z5jdHi6BmyT0", "/a/{id:[a-z/]{2}}"}, {"/*", ":"},
		{"/\xff\x00\u00fc", "/{\xff\x00\u00fc}"}, {"*", "*"}, {"/%7Bkey%7D", "/{{key}}"}, {"/a%zz", "/{token"}, {"/%", "/%"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, route string) {
		page := Page{rules: &pager{}, host: "shop.example.com", path: path, rawPath: path}
		assertPathOfURL(t, string(appendRoute(nil, route)))
		for _, g := range []guard{newGuard(false, nil), newGuard(false, []string{"id"}), newGuard(true, nil)} {
			text, _ := page.appendPath(nil, g, route)
			assertPathOfURL(t, string(text))
		}
		if escaped := page.escapedPath(); chars.IsURL(escaped) {
			text, redacted := newGuard(false, nil).appendSegments([]byte("https://shop.example.com"), escaped, route)
			rest, kept := strings.CutPrefix(string(text), "https://shop.example.com")
			require.True(t, kept)
			assertPathOfURL(t, rest)
			require.Equal(t, strings.Count(escaped, "/"), strings.Count(rest, "/"))
			require.LessOrEqual(t, redacted, strings.Count(rest, "/"))
		}
	})
}

func assertPathOfURL(t *testing.T, path string) {
	t.Helper()
	require.True(t, chars.IsURL(path), "%q", path)
	require.True(t, strings.HasPrefix(path, "/"), "%q", path)
	u, err := url.Parse("https://shop.example.com" + path)
	require.NoError(t, err)
	require.Equal(t, "shop.example.com", u.Host)
}
