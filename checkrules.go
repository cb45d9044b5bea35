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

// CheckRules returns an error that joins a [*FieldError] for every wrong rule. If next is an
// [*http.ServeMux] or has its Handler method, a rule is also wrong if its route is not
// registered there; CheckRules does not check the routes of other handlers. Call it at start-up,
// after the routes are registered, to detect rules that never apply. The error names the route
// that the mux has for the path instead.
//
// CheckRules assumes that a route below a subtree of the mux, other than "/" and
// "/{path...}", is registered in a handler that is mounted there. It reports a rule without a
// host if all routes of that path in the mux have one, although such a rule applies.
func (t *Tracker) CheckRules(next http.Handler, rules ...Rule) error {
	if t.inactive() {
		return nil
	}
	mux, _ := next.(router)
	var problems []error
	for i := range rules {
		problems = append(problems, cmp.Or(t.checkRule(&rules[i]), checkRoute(mux, &rules[i])))
	}
	return errors.Join(problems...)
}

// CheckRoutes is [Tracker.CheckRules] for routers that list their routes. registered holds the
// patterns in the notation of the router, such as "GET /users/:id", or "/users/:id" for a
// route of any method. The error names the registered route that is nearest to the rule's.
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
		if listed.Path == p.pattern.Path && p.names(&listed, cmp.Or(listed.Method, p.pattern.Method)) {
			return nil
		}
	}
	return ruleError(r, "Route", notListed(registered, &p))
}

// checkRoute checks the route of a rule for net/http; mux may be nil.
func checkRoute(mux router, r *Rule) error {
	switch {
	case r.Route == AnyRoute || r.Route == NoRoute:
	case !isPattern(r.Route):
		return ruleError(r, "Route", "not a pattern of net/http")
	case foreignWildcard(r.Route) != "":
		return ruleError(r, "Route", foreignWildcard(r.Route)+" is not a wildcard of net/http: use {name} or {name...}")
	case mux != nil && !registered(mux, r.Route):
		return ruleError(r, "Route", notInMux(mux, r.Route))
	}
	return nil
}

// foreignWildcard returns a segment of a route that is a wildcard in other routers, or "".
func foreignWildcard(route string) string {
	for segment := range strings.SplitSeq(pattern.Parse(route).Path, "/") {
		if segment == "*" || len(segment) > 1 && segment[0] == ':' {
			return segment
		}
	}
	return ""
}

// anyMethod returns the methods to try for a rule without a method.
func anyMethod() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

// registered reports whether the mux has the route, by requests that the route matches.
func registered(mux router, route string) bool {
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
			if got.Path == p.Path+"/" {
				continue // the mux redirects to it
			}
			if isMount(got.Path) || got.Path == p.Path && (p.Host == "" || p.Host == got.Host) {
				return true
			}
		}
	}
	return false
}

// sampleURL returns the URL of an escaped path.
func sampleURL(escaped string) *url.URL {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return &url.URL{Path: escaped}
	}
	return &url.URL{Path: path, RawPath: escaped}
}

// isMount reports whether a path is a subtree where another handler may be mounted. "/" and
// "/{path...}" are none: a single-page application answers every other request there.
func isMount(path string) bool { return pattern.IsSubtree(path) && strings.Count(path, "/") > 1 }

// samplePaths returns paths that a pattern matches, and that few other patterns match.
func samplePaths(path string) []string {
	const unusual = "footfall-rule-check"
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch {
		case s == "{$}":
			segments[i] = ""
		case strings.HasPrefix(s, "{"):
			segments[i] = unusual
		}
	}
	sample := strings.Join(segments, "/")
	if strings.HasSuffix(path, "/") {
		return []string{sample, sample + unusual}
	}
	return []string{sample}
}

// notListed returns the reason for a route that a router does not list, with the registered
// route that is nearest.
func notListed(registered []string, p *rule) string {
	const reason = "not registered in the router"
	registered = slices.Sorted(slices.Values(registered)) // some routers list routes in random order
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

// notInMux returns the reason for a route that is not registered in a mux, with what the mux
// answers there, or for the same path with or without a slash at its end. A mux cannot list its
// routes.
func notInMux(mux router, route string) string {
	const reason = "not registered in the mux, which "
	p := pattern.Parse(route)
	if found := routeFor(mux, p, p.Path); found != "" {
		return reason + "has the route " + found + " there"
	}
	other, hasSlash := strings.CutSuffix(p.Path, "/")
	if !hasSlash {
		other += "/"
	}
	if found := routeFor(mux, p, other); pattern.Parse(found).Path == other {
		return reason + "has the route " + found
	}
	return reason + "answers 404 there (register routes before wrapping the mux in the middleware)"
}

// routeFor returns the route of a mux for a path, by the method of p if the mux has one, else
// by any, or "".
func routeFor(mux router, p pattern.Pattern, path string) string {
	r := &http.Request{Host: p.Host, URL: sampleURL(samplePaths(path)[0])}
	for _, method := range append([]string{cmp.Or(p.Method, http.MethodGet)}, anyMethod()...) {
		r.Method = method
		if _, found := mux.Handler(r); found != "" {
			return found
		}
	}
	return ""
}
