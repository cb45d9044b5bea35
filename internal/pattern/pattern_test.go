package pattern

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRoutesAreSplit(t *testing.T) {
	t.Parallel()
	for route, want := range map[string]Pattern{
		"":                          {},
		"/":                         {Path: "/"},
		"GET /a b":                  {Method: "GET", Path: "/a b"},
		"GET\t /a":                  {Method: "GET", Path: "/a"},
		" /a":                       {Path: "/a"},
		"example.com/a":             {Host: "example.com", Path: "/a"},
		"PUT example.com/a/{id}":    {"PUT", "example.com", "/a/{id}"},
		"GET":                       {Path: "GET"},
		"GET ":                      {Method: "GET"},
		"*":                         {Path: "*"},
		"/shop.v1.CartService/Add":  {Path: "/shop.v1.CartService/Add"},
		"GET example.com:8080/a":    {"GET", "example.com:8080", "/a"},
		"GET /a/{id:[0-9 ]+}/posts": {Method: "GET", Path: "/a/{id:[0-9 ]+}/posts"},
	} {
		assert.Equal(t, want, Parse(route), "%q", route)
	}
}

func TestAPatternWithoutMethodOrHostCoversAll(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		p, route, method string
		want             bool
	}{
		"the same":                {"GET /a", "GET /a", "GET", true},
		"any method":              {"/a", "GET /a", "PUT", true},
		"any host":                {"GET /a", "GET example.com/a", "GET", true},
		"another host":            {"GET example.com/a", "GET example.org/a", "GET", false},
		"a host":                  {"GET example.com/a", "GET /a", "GET", false},
		"another method":          {"GET /a", "/a", "PUT", false},
		"HEAD of a route for GET": {"GET /a", "GET /a", "HEAD", true},
		"HEAD of a route for any": {"GET /a", "/a", "HEAD", false},
	} {
		assert.Equal(t, row.want, covers(row.p, row.route, row.method), name)
	}
}

func TestWildcardsOfEveryRouter(t *testing.T) {
	t.Parallel()
	for route, want := range map[string][]string{
		"GET /a":                     nil,
		"GET /{$}":                   nil,
		"/a/{id}/b/{rest...}":        {"id", "rest"},
		"/a/{id:[0-9]{2,}/x}/b/{c}":  {"id", "c"},
		"/a/:id/b/:name?/c/:n<int>":  {"id", "name", "n"},
		"/a/*path":                   {"path"},
		"/a/*":                       {"*"},
		"/a/t-{token:[a-z]+}/{name}": {"token", "name"},
		"/a/{id":                     nil,
		"/a/{}":                      {""},
		"/a/:from-:to":               {"from-:to"}, // as in echo
		"/a/{from}-:to":              {"from", "to"},
		"/a/{id<int>}.:kind":         {"id", "kind"},
		"/a/{+...}":                  {"+"},
	} {
		assert.Equal(t, want, slices.Collect(Wildcards(route)), route)
		for _, name := range want {
			assert.Equal(t, name != "", HasWildcard(route, name), route)
		}
		assert.False(t, HasWildcard(route, "other"), route)
	}
	for name := range Wildcards("/{a}/{b}/{c}") {
		assert.Equal(t, "a", name)
		break
	}
}

func TestSubtreesAndCatchAlls(t *testing.T) {
	t.Parallel()
	for route, want := range map[string]struct{ subtree, catchAll bool }{
		"":                {false, false},
		"/":               {true, false},
		"/a":              {false, false},
		"/a/":             {true, false},
		"/a/{$}":          {false, false},
		"/a/{path...}":    {true, true},
		"/a/{path...}/b":  {false, false},
		"/a/*":            {false, true},
		"/a/*path":        {false, true},
		"/a/{id}":         {false, false},
		"GET /a/{path}/":  {true, false},
		"/a*b":            {false, false},
		"/a*":             {false, true},
		"/a/{+...}":       {true, true},
		"/{rest:.+}/page": {false, false},
	} {
		assert.Equal(t, want.subtree, IsSubtree(route), route)
		assert.Equal(t, want.catchAll, IsCatchAll(route), route)
	}
}

func TestEventNames(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		method, route, path, want string
		subtree                   bool
	}{
		"no route":                  {"GET", "", "/secret", "get_no_route", false},
		"the root":                  {"GET", "GET /{$}", "/", "get_root", false},
		"a wildcard":                {"GET", "GET /products/{id}", "/products/7", "get_products_id", false},
		"a wildcard of gin":         {"GET", "/products/:id", "/products/7", "get_products_id", false},
		"two wildcards":             {"GET", "/flights/{from}-{to:[A-Z]+}.html", "/flights/a-B.html", "get_flights_from_to_html", false},
		"a slash in a wildcard":     {"GET", "/a/{id:[0-9]{2,}/x}/b", "/a/12/x/b", "get_a_id_b", false},
		"the rest":                  {"GET", "/files/{path...}", "/files/a/b", "get_files_path", false},
		"a subtree":                 {"GET", "/docs/", "/docs/", "get_docs", true},
		"below a subtree":           {"GET", "/docs/", "/docs/a", "get_docs_any", true},
		"below the root":            {"GET", "/", "/a", "get_any", true},
		"the root as a subtree":     {"GET", "/", "/", "get_root", true},
		"a prefix":                  {"GET", "/docs", "/docs", "get_docs", true},
		"beside a prefix":           {"GET", "/docs", "/docsearch", "get_docs", true},
		"below a prefix":            {"GET", "/docs", "/docs/a", "get_docs_any", true},
		"a slash that is no prefix": {"GET", "/docs/", "/docs/a", "get_docs", false},
		"a named rest as a subtree": {"GET", "/docs/{rest:.*}", "/docs/a/b", "get_docs_rest", true},
		"below a star":              {"GET", "/docs/*", "/docs/a/b", "get_docs_any", false},
		"below a plus":              {"GET", "/docs/{+...}", "/docs/a/b", "get_docs_any", false},
		"below a plus at the root":  {"GET", "/{+...}", "/a", "get_any", false},
		"a made-up method":          {"SECRET", "/a", "/a", "other_a", false},
		"a method of the pattern":   {"PURGE", "PURGE /a", "/a", "purge_a", false},
		"letters of other scripts":  {"GET", "/größe", "/größe", "get_gr__e", false},
	} {
		assert.Equal(t, row.want, EventName(row.method, row.route, row.path, row.subtree), name)
	}
}

func TestSegmentsBesideAPath(t *testing.T) {
	t.Parallel()
	for route, row := range map[string]struct{ path, want string }{
		"":                          {"/a/b", ","},
		"GET /a/{id}/b":             {"/a/7/b", "a,{id},b"},
		"GET /a/{id}":               {"/b/7/x", ",a,{id}"},
		"GET /b/{id}":               {"/b/7/x", "b,{id},"},
		"GET /c/{id}":               {"/b/7", "c,{id}"},
		"GET /d/{id}":               {"/d", "d"},
		"/a/{id}/{$}":               {"/a/7/", "a,{id},{$}"},
		"/a/{path...}":              {"/a/b/c/d", "a,{path...},{path...},{path...}"},
		"/b/{path...}":              {"/api/b/c/d", ",b,{path...},{path...}"},
		"/a/*":                      {"/a/b", "a,*"},
		"/c/*":                      {"/c", "c"},
		"/d/*/{id}":                 {"/d/7", "d,{id}"},
		"/a/*/:id":                  {"/a/b/c/7", "a,*,*,:id"},
		"/a/*path":                  {"/a/b/c", "a,*path,*path"},
		"/:a/x-:b":                  {"/1/x-2", ":a,x-:b"},
		"/:a/x-:c":                  {"/1/y-2/3", ",:a,x-:c"},
		"/{a:[0-9]{2}/[a-z]{3}}/:b": {"/12/abc", "{a:[0-9]{2}/[a-z]{3}},:b"},
		"/f/{rest:.*}":              {"/f/a/b", "f,{rest:.*},{rest:.*}"},
		"/f/{rest:[a-z]+}":          {"/f/a/", "f,{rest:[a-z]+},"},
		"/g/":                       {"/g/a/b", "g,,"},
		"/h/{id}/":                  {"/api/h/7/b/c", ",h,{id},,"},
		"/user/reset/:key":          {"/user/reset%2Fk3y", "user,reset/:key"},
		"/user/reset/{key:[^/]+}":   {"/user%2freset/k3y", "user/reset,{key:[^/]+}"},
		"/k\u00f6ln/{id}":           {"/eu/K%C3%B6LN/7/x", ",k\u00f6ln,{id},"},
	} {
		segments := NewSegments(route, row.path)
		var got []string
		for segment := range strings.SplitSeq(row.path[1:], "/") {
			got = append(got, segments.Next(segment))
		}
		assert.Equal(t, row.want, strings.Join(got, ","), route)
	}
}

func TestFixedText(t *testing.T) {
	t.Parallel()
	for part, row := range map[string]struct {
		segment string
		want    bool
	}{
		"reset": {"r%65SET", true}, "k\u00f6ln": {"K%C3%96LN", true}, "a%20b": {"a%20b", true}, "a b": {"a%20b", true},
		"my+page": {"my%2Bpage", true}, "a": {"b", false}, "{id}": {"{id}", false}, "a%zz": {"a%zz", false}, "a%": {"a%25", true}, "": {"a", false},
	} {
		assert.Equal(t, row.want, IsText(part, row.segment), part)
	}
}

func TestTheNearestRoute(t *testing.T) {
	t.Parallel()
	registered := []string{"GET /users/:id", "POST /checkout", "GET /api/articles", "GET /v2/status", "GET /v1/status"}
	for route, want := range map[string]string{
		"GET /users/{user}": "GET /users/:id",
		"POST /chekout":     "POST /checkout",
		"PUT /checkout":     "POST /checkout",
		"GET /articles":     "GET /api/articles",
		"GET /status":       "GET /v2/status", // as near as /v1/status, and before it
		"GET /sitemap.xml":  "",
		"GET /":             "",
	} {
		assert.Equal(t, want, Nearest(registered, Parse(route)), route)
	}
	assert.Empty(t, Nearest(nil, Parse("GET /a")))
}

func TestThePrefixOfARoute(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ listed, want, prefix string }{
		"a prefix":              {"GET /api/users", "GET /users", "/api"},
		"of any method":         {"GET /api/users", "/users", "/api"},
		"none":                  {"GET /users", "GET /users", ""},
		"the root":              {"GET /api/", "GET /", ""},
		"and another method":    {"PUT /api/users", "GET /users", ""},
		"and another path":      {"GET /api/user", "GET /users", ""},
		"and a wildcard in it":  {"GET /shops/:shop/stock", "GET /stock", "/shops/:shop"},
		"and a host that it is": {"GET example.com/api/users", "GET example.com/users", "/api"},
	} {
		assert.Equal(t, row.prefix, PrefixOf(Parse(row.listed), Parse(row.want)), name)
	}
}

func FuzzAnyStringIsAPattern(f *testing.F) {
	for _, route := range []string{"", "/", "GET /a/{id}", "/{", "/}{", "/{{a}}", ":", "*", "GET /a/{id:[a-z/]{3}}/:b/*c", "\xff /\x00", "//"} {
		f.Add(route, "a/b/c")
	}
	f.Fuzz(func(t *testing.T, route, path string) {
		p := Parse(route)
		assert.True(t, p.Covers(&p, p.Method))
		assert.Equal(t, 0, distance(p, p))
		assert.NotEmpty(t, EventName("GET", route, path, len(path)%2 == 0))
		segments := NewSegments(route, "/"+path)
		for segment := range strings.SplitSeq(path, "/") {
			assert.Contains(t, p.Path, segments.Next(segment), "%q", route)
		}
	})
}

func covers(rule, route, method string) bool {
	p, r := Parse(rule), Parse(route)
	return p.Covers(&r, method)
}

func TestAPrefixOfARouteIsTrimmed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ route, path, prefix, wantRoute, wantPath string }{
		"a route":              {"GET /api/users/{id}", "/api/users/7", "/api", "GET /users/{id}", "/users/7"},
		"without slashes":      {"GET /api/users", "/api/users", "api/", "GET /users", "/users"},
		"two segments":         {"GET /api/{v}/users", "/api/v2/users", "/api/{v}", "GET /users", "/users"},
		"all of it":            {"GET /api", "/api", "/api", "GET /", ""},
		"a subtree":            {"/api/", "/api/a/b", "/api", " /", "/a/b"},
		"a host":               {"GET example.com/api/a", "/api/a", "/api", "GET example.com/a", "/a"},
		"a part of a segment":  {"GET /apis/a", "/apis/a", "/api", "GET /apis/a", "/apis/a"},
		"another prefix":       {"GET /a", "/a", "/api", "GET /a", "/a"},
		"no route":             {"", "/api/a", "/api", "", "/api/a"},
		"a slash as a prefix":  {"GET /a", "/a", "/", "GET /a", "/a"},
		"a path that is short": {"GET /api/{v}/users", "/", "/api/{v}", "GET /users", ""},
	} {
		route, path := TrimPrefix(row.route, row.path, row.prefix)
		assert.Equal(t, [2]string{row.wantRoute, row.wantPath}, [2]string{route, path}, name)
	}
	assert.Equal(t, "get_root", EventName("GET", "GET /", "", false))
	assert.Equal(t, "get_any", EventName("GET", " /", "/a/b", true))
}
