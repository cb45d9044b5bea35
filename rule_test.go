package footfall_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// routing is a rule's route and the routes of a mux.
type routing struct {
	mux    []string // patterns registered
	route  string   // of the rule
	events []string // requests that make an event
	silent []string // requests that make none
}

func routings() map[string]routing {
	return map[string]routing{
		"a method": {
			[]string{"POST /checkout", "GET /checkout"}, "POST /checkout",
			[]string{"POST /checkout"}, []string{"GET /checkout", "PUT /checkout"},
		},
		"no method holds under any": {
			[]string{"POST /checkout", "GET /checkout"}, "/checkout",
			[]string{"POST /checkout", "GET /checkout"}, []string{"HEAD /checkout"},
		},
		"a method of a route under any": {
			[]string{"/checkout"}, "POST /checkout",
			[]string{"POST /checkout"}, []string{"GET /checkout", "HEAD /checkout"},
		},
		"a wildcard": {
			[]string{"GET /products/{id}", "GET /products/{id}/reviews"}, "GET /products/{id}",
			[]string{"GET /products/42", "GET /products/a%2Fb"}, []string{"GET /products/42/reviews", "GET /products/"},
		},
		"a neighbour of a wildcard": {
			[]string{"GET /products/{id}", "GET /products/new"}, "GET /products/{id}",
			[]string{"GET /products/42"}, []string{"GET /products/new"},
		},
		"the more specific neighbour": {
			[]string{"GET /products/{id}", "GET /products/new"}, "GET /products/new",
			[]string{"GET /products/new"}, []string{"GET /products/42"},
		},
		"a subtree": {
			[]string{"/docs/", "/docs/api"}, "/docs/",
			[]string{"GET /docs/", "GET /docs/a", "GET /docs/a/b"}, []string{"GET /docs/api", "GET /doc"},
		},
		"the end of a path": {
			[]string{"GET /{$}", "GET /"}, "GET /{$}",
			[]string{"GET /"}, []string{"GET /a", "POST /"},
		},
		"the rest of a path": {
			[]string{"GET /files/{rest...}"}, "GET /files/{rest...}",
			[]string{"GET /files/", "GET /files/a/b"}, []string{"GET /file"},
		},
		"two blanks after the method": {
			[]string{"GET /pricing"}, "GET  /pricing",
			[]string{"GET /pricing"}, nil,
		},
		"a tab after the method": { // net/http accepts it
			[]string{"GET /pricing"}, "GET\t/pricing",
			[]string{"GET /pricing"}, nil,
		},
		"HEAD named": {
			[]string{"GET /feed"}, "HEAD /feed",
			[]string{"HEAD /feed"}, []string{"GET /feed"},
		},
		"OPTIONS named": {
			[]string{"OPTIONS /feed", "/feed"}, "OPTIONS /feed",
			[]string{"OPTIONS /feed"}, []string{"GET /feed"},
		},
	}
}

func TestRuleAppliesToItsRouteOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range routings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: tc.route, Event: "it"}}}.open(t, muxOf(tc.mux...))
			var want []string
			for _, request := range tc.events {
				want = append(want, shopURL+site.sendNamed(t, request))
			}
			for _, request := range tc.silent {
				site.sendNamed(t, request)
			}
			assert.Equal(t, want, urls(site.events()))
		})
	}
}

// sendNamed sends a request such as "GET /pricing" and returns its path and query. The query
// contains the method, with a key that pages keep.
func (s *siteUnderTest) sendNamed(t *testing.T, request string) string {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	path += "?ref=" + method
	s.do(t, method, path)
	return path
}

func urls(events []footfalltest.Event) (all []string) {
	for _, e := range events {
		all = append(all, e.URL)
	}
	return all
}

func TestRuleOfAHostAppliesToThatHostOnly(t *testing.T) {
	t.Parallel()
	mux := muxOf("shop.example.com/pricing", "blog.example.com/pricing", "/pricing")
	for name, tc := range map[string]struct {
		route string
		hosts []string // that make an event
	}{
		"a host":                     {"shop.example.com/pricing", []string{"shop.example.com"}},
		"a method and a host":        {"GET shop.example.com/pricing", []string{"shop.example.com"}},
		"no host holds for them all": {"/pricing", []string{"shop.example.com", "blog.example.com", "other.example.com"}},
		"a host the mux has not":     {"other.example.com/pricing", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules:  []footfall.Rule{{Route: tc.route, Event: "it"}},
				config: func(c *footfall.Config) { c.PublicURL = "" },
			}.open(t, mux)
			for _, host := range []string{"shop.example.com", "blog.example.com", "other.example.com"} {
				r := site.request(t, "GET", "/pricing", nil)
				r.Host = host
				resp, err := site.Client().Do(r)
				require.NoError(t, err)
				resp.Body.Close()
			}
			var want []string
			for _, host := range tc.hosts {
				want = append(want, "http://"+host+"/pricing")
			}
			assert.Equal(t, want, urls(site.events()))
		})
	}
}

func TestRuleAppliesToItsStatusClasses(t *testing.T) {
	t.Parallel()
	statuses := []int{200, 201, 204, 299, 302, 304, 400, 404, 405, 499, 500, 503}
	for name, tc := range map[string]struct {
		classes footfall.StatusClass
		want    []int
	}{
		"none given": {0, statuses},
		"success":    {footfall.Success, []int{200, 201, 204, 299, 302, 304}},
		"client":     {footfall.Status4xx, []int{400, 404, 405, 499}},
		"server":     {footfall.Status5xx, []int{500, 503}},
		"failure":    {footfall.Failure, []int{400, 404, 405, 499, 500, 503}},
		"two": {footfall.Success | footfall.Status5xx,
			[]int{200, 201, 204, 299, 302, 304, 500, 503}},
		"aborted": {footfall.Aborted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			for _, status := range statuses {
				mux.Handle(fmt.Sprintf("GET /answer/%d", status), answering(status))
			}
			rules := make([]footfall.Rule, 0, len(statuses))
			for _, status := range statuses {
				rules = append(rules, footfall.Rule{Route: fmt.Sprintf("GET /answer/%d", status), Event: fmt.Sprint(status), Status: tc.classes})
			}
			site := setup{rules: rules}.open(t, mux)
			for _, status := range statuses {
				site.get(t, fmt.Sprintf("/answer/%d", status))
			}
			want := make([]string, 0, len(tc.want))
			for _, status := range tc.want {
				want = append(want, fmt.Sprint(status))
			}
			assert.Equal(t, want, append([]string{}, site.names()...))
		})
	}
}

// docs/frameworks.md describes the events of a form that always redirects.
func TestFormThatRedirectsEitherWay(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/{answer}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("answer") == "right" {
			assert.NoError(t, footfall.Track(r.Context(), "logged_in"))
		}
		w.Header().Set("Location", "/")
		w.WriteHeader(http.StatusSeeOther)
	})
	site := setup{rules: []footfall.Rule{{Route: "GET /login/{answer}", Event: "by_rule", Status: footfall.Success}}}.open(t, mux)
	site.get(t, "/login/right")
	site.get(t, "/login/wrong")
	assert.ElementsMatch(t, []string{"logged_in", "by_rule", "by_rule"}, site.names())
}

func TestHandlerThatWritesNothingIsASuccess(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(http.ResponseWriter, *http.Request) {})
	site := setup{rules: onEveryClass("GET /p")}.open(t, mux)
	site.get(t, "/p")
	assert.Equal(t, []string{"success"}, site.names())
}

func TestFirstStatusCounts(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		w.WriteHeader(http.StatusOK) // ignored, as in net/http
	})
	mux.HandleFunc("GET /body-first", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "body")
		w.WriteHeader(http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /flush-first", func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.WriteHeader(http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /copy-first", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("body"))
		w.WriteHeader(http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /bytes-first", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("body"))
		w.WriteHeader(http.StatusInternalServerError)
	})
	var rules []footfall.Rule
	paths := []string{"/p", "/body-first", "/flush-first", "/copy-first", "/bytes-first"}
	for _, path := range paths {
		rules = append(rules, onEveryClass("GET "+path)...)
	}
	site := setup{rules: rules}.open(t, mux)
	for _, path := range paths {
		site.get(t, path)
	}
	assert.Equal(t, []string{"client_error", "success", "success", "success", "success"}, site.names())
}

func TestSeveralRulesOfARouteEachMakeTheirEvent(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{
		{Route: "POST /checkout", Event: "checkout_attempted"},
		{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
		{Route: "POST /checkout", Event: "checkout_failed", Status: footfall.Failure},
		{Route: "/checkout", Event: "checkout_seen"},
		{Route: "GET /checkout", Event: "checkout_opened"},
	}}.open(t, muxOf("POST /checkout", "GET /checkout"))
	site.do(t, "POST", "/checkout")
	site.do(t, "GET", "/checkout")
	assert.Equal(t, []string{
		"checkout_attempted", "checkout_completed", "checkout_seen",
		"checkout_seen", "checkout_opened",
	}, site.names())
}

func TestPropsAndPathPropsOfARule(t *testing.T) {
	t.Parallel()
	props := []footfall.Prop{footfall.P("plan", "pro"), footfall.P("amount", 4999)}
	rules := []footfall.Rule{{
		Route: "GET /shops/{shop}/products/{id}", Props: props, PathProps: []string{"shop", "id"},
	}}
	site := setup{rules: rules}.open(t, muxOf("GET /shops/{shop}/products/{id}"))
	props[0] = footfall.P("plan", "changed after the middleware was made")
	rules[0].PathProps[0] = "changed"
	site.get(t, "/shops/k%C3%B6ln/products/a%2Fb")
	site.get(t, "/shops/jane@example.com/products/2")
	events := site.events()
	require.Len(t, events, 2)
	assert.Equal(t, map[string]any{"plan": "pro", "amount": 4999.0, "shop": "köln", "id": "a/b"}, events[0].Props)
	assert.Equal(t, "[redacted]", events[1].Props["shop"], "the guard looks at path props as well")
}

func TestRefererPage(t *testing.T) {
	t.Parallel()
	own := shopURL + "/api/cart"
	for name, tc := range map[string]struct{ referer, want string }{
		"a page":                     {"https://www.example.org/shoes", "https://www.example.org/shoes"},
		"query and fragment cut":     {"https://www.example.org/shoes?token=secret&utm_source=mail#top", "https://www.example.org/shoes?utm_source=mail"},
		"a user and password cut":    {"https://jane:secret@www.example.org/shoes", "https://www.example.org/shoes"},
		"no header":                  {"", own},
		"no URL":                     {"::not a url::", own},
		"a path only":                {"/shoes", own},
		"a scheme that runs scripts": {"javascript:alert(1)", own},
		"an app's scheme":            {"android-app://com.example", own},
		"no host":                    {"https:///shoes", own},
		"a quote in the host":        {"https://a\"b/shoes", own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: "POST /api/cart", Event: "added", Page: footfall.PageReferer}}}.open(t, muxOf("POST /api/cart"))
			site.do(t, "POST", "/api/cart", "Referer", tc.referer)
			assert.Equal(t, []string{tc.want}, urls(site.events()))
		})
	}
}

func TestRuleWithoutRefererPageIgnoresTheReferer(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{Route: "POST /api/cart"}}}.open(t, muxOf("POST /api/cart"))
	site.do(t, "POST", "/api/cart", "Referer", "https://www.example.org/shoes")
	assert.Equal(t, []string{shopURL + "/api/cart"}, urls(site.events()))
}

func TestAnyRouteNamesEventsByMethodAndPattern(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ pattern, request, want string }{
		"the root":                {"GET /{$}", "GET /", "get_root"},
		"the root's subtree":      {"/", "GET /anything/at/all", "get_any"},
		"the subtree's root":      {"/", "GET /", "get_root"},
		"a path":                  {"GET /pricing", "GET /pricing", "get_pricing"},
		"the request's method":    {"/pricing", "PUT /pricing", "put_pricing"},
		"a wildcard by its name":  {"GET /products/{id}", "GET /products/42", "get_products_id"},
		"two wildcards":           {"DELETE /users/{user}/cards/{card}", "DELETE /users/jane/cards/4111", "delete_users_user_cards_card"},
		"the rest of a path":      {"GET /files/{rest...}", "GET /files/a/secret.txt", "get_files_rest"},
		"a subtree":               {"POST /docs/", "POST /docs/a/b", "post_docs_any"},
		"the root of a subtree":   {"POST /docs/", "POST /docs/", "post_docs"},
		"a host is not named":     {"example.com/pricing", "GET /pricing", "get_pricing"},
		"capitals":                {"GET /API/V2", "GET /API/V2", "get_api_v2"},
		"a dash and a dot":        {"GET /robots-2.txt", "GET /robots-2.txt", "get_robots_2_txt"},
		"other letters":           {"GET /preise/größe", "GET /preise/gr%C3%B6%C3%9Fe", "get_preise_gr__e"},
		"signs only leave no gap": {"GET /a/~/b", "GET /a/~/b", "get_a_b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: footfall.AnyRoute}}}.open(t, muxOf(tc.pattern))
			method, path, _ := strings.Cut(tc.request, " ")
			r := site.request(t, method, path, nil)
			r.Host = "example.com"
			resp, err := site.Client().Do(r)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, []string{tc.want}, site.names())
		})
	}
}

func TestAnyRouteMeansRoutesThatNoOtherRuleNames(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{
		{Route: footfall.AnyRoute},
		{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Status5xx},
	}}.open(t, muxOf("POST /checkout", "GET /pricing"))
	site.do(t, "POST", "/checkout") // its rule does not match a 200
	site.get(t, "/pricing")
	site.get(t, "/nowhere")
	site.do(t, "PUT", "/pricing")
	site.do(t, "HEAD", "/pricing")
	assert.Equal(t, []string{"get_pricing"}, site.names())
}

func TestAnyRouteWithAnEventNamesThemAllAlike(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{Route: footfall.AnyRoute, Event: "pageview"}}}.open(t, muxOf("GET /a", "GET /b"))
	site.get(t, "/a")
	site.get(t, "/b")
	assert.Equal(t, []string{"pageview", "pageview"}, site.names())
}

func TestNoRouteMeans404And405(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules []footfall.Rule
		want  []string
	}{
		"not asked": {[]footfall.Rule{{Route: footfall.AnyRoute}}, []string{"get_found", "get_found"}},
		"automatic names": {[]footfall.Rule{{Route: footfall.NoRoute}},
			[]string{"get_no_route", "get_no_route", "post_no_route"}},
		"a name": {[]footfall.Rule{{Route: footfall.NoRoute, Event: "not_found", Status: footfall.Status4xx}},
			[]string{"not_found", "not_found", "not_found"}},
		"a class that cannot be": {[]footfall.Rule{{Route: footfall.NoRoute, Status: footfall.Success}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := muxOf("GET /found")
			mux.Handle("GET /found/but-missing", answering(http.StatusNotFound))
			site := setup{rules: append(tc.rules, footfall.Rule{Route: "GET /found/but-missing", Event: "get_found"})}.open(t, mux)
			if name != "not asked" {
				site.get(t, "/users/jane@example.com")
				site.get(t, "/users/joe")
				site.do(t, "POST", "/found")
				site.do(t, "HEAD", "/nowhere")
				assert.Equal(t, tc.want, namesOrNil(site))
				return
			}
			site.get(t, "/nowhere")
			site.do(t, "POST", "/found")
			site.get(t, "/found")
			site.get(t, "/found/but-missing") // a 404 by the route's handler
			assert.Equal(t, tc.want, namesOrNil(site))
		})
	}
}

func namesOrNil(s *siteUnderTest) []string {
	if names := s.names(); len(names) > 0 {
		return names
	}
	return nil
}

// rawly sends one request, to the shop if it has no host, and waits for the end of the answer.
func (s *siteUnderTest) rawly(t *testing.T, lines ...string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.Listener.Addr().String(), 10*time.Second)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	if len(lines) == 1 {
		lines = append(lines, "Host: shop.example.com")
	}
	_, err = fmt.Fprintf(conn, "%s\r\nConnection: close\r\n\r\n", strings.Join(lines, "\r\n"))
	require.NoError(t, err)
	text, err := io.ReadAll(bufio.NewReader(conn))
	require.NoError(t, err)
	return string(text)
}

func TestNamesNeverHaveTheRawPath(t *testing.T) {
	t.Parallel()
	mux := muxOf("/users/{id}/", "GET /cards/{card}", "GET /docs/")
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}, {Route: "/users/{id}/"}}
	for _, withRule := range []bool{false, true} {
		for name, line := range map[string]string{
			"a redirect to the subtree":            "GET /users/secret HTTP/1.1",
			"a redirect to the subtree of CONNECT": "CONNECT /users/secret HTTP/1.1",
			"a redirect to the clean path":         "GET /users/./secret/../secret/x HTTP/1.1",
			"a wildcard":                           "GET /cards/secret HTTP/1.1",
			"nothing found":                        "GET /secret HTTP/1.1",
			"another method":                       "POST /cards/secret HTTP/1.1",
			"a whole URL as target":                "GET http://secret.example.com/secret HTTP/1.1",
			"an authority as target":               "CONNECT secret.example.com:443 HTTP/1.1",
			"an encoded path":                      "GET /users/%73ecret HTTP/1.1",
		} {
			t.Run(fmt.Sprintf("%s, with a rule of the route %t", name, withRule), func(t *testing.T) {
				t.Parallel()
				s := setup{rules: rules[:2]}
				if withRule {
					s.rules = rules
				}
				site := s.open(t, mux)
				site.rawly(t, line)
				for _, name := range site.names() {
					assert.NotContains(t, name, "secret")
				}
			})
		}
	}
}

func TestNamesNeverContainANonStandardMethod(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}}}.open(t, muxOf("/any"))
	site.rawly(t, "SECRET /any HTTP/1.1")
	site.rawly(t, "SECRET /nowhere HTTP/1.1")
	for _, name := range site.names() {
		assert.NotContains(t, name, "secret", "any client could fill the dashboard with names")
	}
}
