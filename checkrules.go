package footfall

import (
	"cmp"
	"errors"
	"fmt"
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
// A rule is also wrong if routes with different paths have the same automatic name, because
// reports then show them as one event: "GET /users/{id}" and "GET /users/id". An http.ServeMux
// does not list its routes, so CheckRules compares only the routes of the rules. Rules may
// share the name that their Event gives them.
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
	return errors.Join(append(problems, t.checkNames(nil, rules, pattern.IsSubtree)...)...)
}

// CheckRoutes is [Tracker.CheckRules] for routers that list their routes. registered holds the
// patterns in the notation of the router, such as "GET /users/:id", or "/users/:id" for a
// route of any method. The error names the registered route that is nearest to the rule's. With a
// rule for AnyRoute, CheckRoutes also compares the automatic names of registered routes.
func (t *Tracker) CheckRoutes(registered []string, rules ...Rule) error {
	if t.inactive() {
		return nil
	}
	var problems []error
	for i := range rules {
		problems = append(problems, cmp.Or(t.checkRule(&rules[i]), checkListed(registered, &rules[i])))
	}
	return errors.Join(append(problems, t.checkNames(registered, rules, isNoSubtree)...)...)
}

func checkListed(registered []string, r *Rule) error {
	if r.Route == AnyRoute || r.Route == NoRoute {
		return nil
	}
	p := rule{Rule: *r, pattern: pattern.Parse(r.Route)}
	if slices.ContainsFunc(registered, p.namesListed) {
		return nil
	}
	return ruleError(r, "Route", notListed(registered, &p))
}

// namesListed reports whether the rule names a route of a router's list.
func (r *rule) namesListed(route string) bool {
	listed := pattern.Parse(route)
	return listed.Path == r.pattern.Path && r.names(&listed, cmp.Or(listed.Method, r.pattern.Method))
}

// isNoSubtree is pattern.IsSubtree for routers other than net/http.
func isNoSubtree(string) bool { return false }

// autoNamed is a route whose events have an automatic name.
type autoNamed struct {
	rule    *Rule // that makes the events
	route   string
	pattern pattern.Pattern
	subtree bool
}

// checkNames reports routes that share an automatic name. With AnyRoute, these include the
// registered routes that no rule names.
func (t *Tracker) checkNames(registered []string, rules []Rule, isSubtree func(string) bool) (problems []error) {
	var all []autoNamed
	for i := range rules {
		r := &rules[i]
		routes := []string{r.Route}
		switch {
		case r.Event != "":
			continue
		case r.Route == AnyRoute:
			routes = unnamedRoutes(registered, rules)
		}
		for _, route := range routes {
			all = append(all, autoNamed{r, route, pattern.Parse(route), isSubtree(route)})
		}
	}
	known := make(map[string][]*autoNamed) // by the name that they have with GET
	for i := range all {
		a := &all[i]
		name := t.nameOf(a, http.MethodGet)
		if at := slices.IndexFunc(known[name], func(b *autoNamed) bool { return t.collide(a, b) }); at >= 0 {
			problems = append(problems, t.sameName(known[name][at], a))
		}
		known[name] = append(known[name], a)
	}
	return problems
}

// nameOf returns the name of the events of a route. For a catch-all it is the name of a path that
// is longer than the route.
func (t *Tracker) nameOf(a *autoNamed, method string) string {
	return t.autoName(a.rule, method, a.route, a.pattern.Path+"/longer/path", a.subtree)
}

// unnamedRoutes returns the registered routes that only AnyRoute applies to, sorted.
func unnamedRoutes(registered []string, rules []Rule) (routes []string) {
	for _, route := range slices.Sorted(slices.Values(registered)) {
		named := slices.ContainsFunc(rules, func(r Rule) bool {
			p := rule{Rule: r, pattern: pattern.Parse(r.Route)}
			return r.Route != AnyRoute && r.Route != NoRoute && p.namesListed(route)
		})
		if p := pattern.Parse(route); !named && !isSilent(p.Method) && !isForPrograms(p.Path) {
			routes = append(routes, route)
		}
	}
	return routes
}

// collide reports whether events of two routes are taken for each other if the names are the
// same. Paths that differ by a slash at the end are the same page.
func (t *Tracker) collide(a, b *autoNamed) bool {
	trim := func(path string) string { return strings.TrimRight(strings.TrimSuffix(path, "{$}"), "/") }
	methods := a.pattern.Method == "" || b.pattern.Method == "" || a.pattern.Method == b.pattern.Method
	return methods && t.encoder.headOf(a.rule.SiteID, "x") == t.encoder.headOf(b.rule.SiteID, "x") && trim(a.pattern.Path) != trim(b.pattern.Path)
}

func (t *Tracker) sameName(a, b *autoNamed) error {
	name := t.nameOf(b, cmp.Or(a.pattern.Method, b.pattern.Method, http.MethodGet))
	return ruleError(b.rule, "Event", fmt.Sprintf("empty, and %s and %s have the same automatic name, %s: add a rule with an Event for one of them", a.route, b.route, name))
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
	const unlikelySegment = "footfall-rule-check"
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch {
		case s == "{$}":
			segments[i] = ""
		case strings.HasPrefix(s, "{"):
			segments[i] = unlikelySegment
		}
	}
	sample := strings.Join(segments, "/")
	if strings.HasSuffix(path, "/") {
		return []string{sample, sample + unlikelySegment}
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
