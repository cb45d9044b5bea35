package footfall

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/internal/pattern"
)

// CheckRules returns an error that joins a *FieldError for every rule that is
// wrong or, if next is an *http.ServeMux or has its Handler method, whose route is
// not registered in it; other handlers cannot be asked. Call it at start-up, after
// the routes are registered, to refuse a start with rules that never apply. The error says
// what the mux answers in place of the route.
//
// A route below a subtree that is mounted on the mux, other than "/" and "/{path...}",
// is taken to be registered there. A mux with routes for certain hosts only cannot be asked
// for a rule without a host.
func (t *Tracker) CheckRules(next http.Handler, rules ...Rule) error {
	if t.inactive() {
		return nil
	}
	mux, _ := next.(asker)
	var problems []error
	for i := range rules {
		problems = append(problems, cmp.Or(t.checkRule(&rules[i]), checkRoute(mux, &rules[i])))
	}
	return errors.Join(problems...)
}

// report logs what is wrong with rules, a line each.
func (t *Tracker) report(err error) {
	if t.inactive() || err == nil {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			t.report(one)
		}
		return
	}
	t.reporter.log.Error("footfall: a rule may have no effect", "error", err)
}

// CheckRoutes is CheckRules for routers that list their routes: registered are the
// patterns as the router has them, such as "GET /users/:id", or "/users/:id" for
// one of any method. The error names the registered route that is nearest to the rule's.
func (t *Tracker) CheckRoutes(registered []string, rules ...Rule) error {
	if t.inactive() {
		return nil
	}
	var problems []error
	for i := range rules {
		problems = append(problems, cmp.Or(t.checkRule(&rules[i]), checkListed(registered, &rules[i])))
	}
	return errors.Join(problems...)
}

func checkListed(registered []string, r *Rule) error {
	if r.Route == AnyRoute || r.Route == NoRoute {
		return nil
	}
	p := rule{Rule: *r, pattern: pattern.Parse(r.Route)}
	for _, route := range registered {
		listed := pattern.Parse(route)
		if listed.Path == p.pattern.Path && p.names(listed, cmp.Or(listed.Method, p.pattern.Method)) {
			return nil
		}
	}
	return ruleError(r, "Route", notListed(registered, &p))
}

// checkRoute checks the route of a rule for net/http; mux may be nil.
func checkRoute(mux asker, r *Rule) error {
	switch {
	case r.Route == AnyRoute || r.Route == NoRoute:
	case !isPattern(r.Route):
		return ruleError(r, "Route", "not a pattern of net/http")
	case mux != nil && !registered(mux, r.Route):
		return ruleError(r, "Route", notInMux(mux, r.Route))
	}
	return nil
}

// isPattern reports whether an http.ServeMux would take the route.
func isPattern(route string) bool { return registers(http.NewServeMux(), route) }

// registers reports whether mux takes the pattern; it panics where it does not.
func registers(mux *http.ServeMux, pattern string) (ok bool) {
	defer func() { ok = recover() == nil }()
	mux.Handle(pattern, matched{})
	return true
}

// matched is the handler of every route in a mux of rules' patterns. What else
// such a mux answers with, such as a redirect, is no match.
type matched struct{}

func (matched) ServeHTTP(http.ResponseWriter, *http.Request) {}

// asker is what http.ServeMux offers to be asked for the pattern of a request.
type asker interface {
	Handler(*http.Request) (http.Handler, string)
}

// anyMethod returns the methods of a rule that names none.
func anyMethod() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

// registered asks the mux with requests that the route would match.
func registered(mux asker, route string) bool {
	p := pattern.Parse(route)
	methods := []string{p.Method}
	if p.Method == "" {
		methods = anyMethod()
	}
	for _, method := range methods {
		for _, path := range samplePaths(p.Path) {
			r := &http.Request{Method: method, Host: p.Host, URL: sampleURL(path)}
			_, found := mux.Handler(r)
			got := pattern.Parse(found)
			if isMount(got.Path) || got.Path == p.Path && (p.Host == "" || p.Host == got.Host) {
				return true
			}
		}
	}
	return false
}

// sampleURL takes a path as patterns have it, escaped.
func sampleURL(escaped string) *url.URL {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return &url.URL{Path: escaped}
	}
	return &url.URL{Path: path, RawPath: escaped}
}

// isMount is not true of "/" and "/{path...}", where single-page applications answer
// whatever else is not found.
func isMount(path string) bool { return pattern.IsSubtree(path) && strings.Count(path, "/") > 1 }

// samplePaths returns paths that the pattern matches and hardly another does.
func samplePaths(path string) []string {
	const stranger = "footfall-rule-check"
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch {
		case s == "{$}":
			segments[i] = ""
		case strings.HasPrefix(s, "{"):
			segments[i] = stranger
		}
	}
	sample := strings.Join(segments, "/")
	if strings.HasSuffix(path, "/") {
		return []string{sample, sample + stranger}
	}
	return []string{sample}
}

// notListed says of a route that is not registered in a router which registered route is most
// like it.
func notListed(registered []string, p *rule) string {
	const reason = "not registered in the router"
	registered = slices.Sorted(slices.Values(registered)) // some routers list them in any order
	for _, route := range registered {
		if prefix := pattern.PrefixOf(pattern.Parse(route), p.pattern); prefix != "" {
			return reason + "; the nearest is " + route + ": give the rules its prefix, as footfall.Prefix(" + strconv.Quote(prefix) + ", rules...) does"
		}
	}
	if route := pattern.Nearest(registered, p.pattern); route != "" {
		return reason + "; the nearest is " + route
	}
	return reason
}

// notInMux says of a route that is not registered in a mux, which cannot list its routes, what
// the mux answers there.
func notInMux(mux asker, route string) string {
	const reason, hint = "not registered in the mux, which ", " (register routes before the middleware is put around it)"
	p := pattern.Parse(route)
	r := &http.Request{Method: cmp.Or(p.Method, http.MethodGet), Host: p.Host, URL: sampleURL(samplePaths(p.Path)[0])}
	if _, found := mux.Handler(r); found != "" {
		return reason + "answers there with its route " + found + hint
	}
	for _, method := range anyMethod() {
		r.Method = method
		if _, found := mux.Handler(r); found != "" {
			return reason + "has the route " + found + " there" + hint
		}
	}
	return reason + "answers 404 there" + hint
}
