package footfall

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// CheckRules returns an error that joins a *FieldError for every rule whose route
// is not registered in next, if next is an *http.ServeMux or has its Handler
// method; otherwise nil, for then it cannot be asked. Call it at start-up, after
// the routes are registered, to refuse a start with rules that never apply.
//
// A route below a subtree that is mounted on the mux, other than "/", is taken to
// be registered there.
func CheckRules(next http.Handler, rules ...Rule) error {
	mux, ok := next.(asker)
	if !ok {
		return nil
	}
	var problems []error
	for i := range rules {
		r := &rules[i]
		if r.Route == "" || r.Route == AnyRoute || r.Route == NoRoute {
			continue
		}
		if !registered(mux, r.Route) {
			problems = append(problems, ruleError(r, "Route", "not registered in the mux (register routes before the middleware is put around it)"))
		}
	}
	return errors.Join(problems...)
}

// asker is what http.ServeMux offers to be asked for the pattern of a request.
type asker interface {
	Handler(*http.Request) (http.Handler, string)
}

// registered asks the mux with requests that the route would match.
func registered(mux asker, route string) bool {
	p := parsePattern(route)
	methods := []string{p.method}
	if p.method == "" {
		methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	}
	for _, method := range methods {
		for _, path := range samplePaths(p.path) {
			r := &http.Request{Method: method, Host: p.host, URL: &url.URL{Path: path}}
			_, found := mux.Handler(r)
			if got := parsePattern(found); got.path == p.path || isMount(got.path) {
				return true
			}
		}
	}
	return false
}

func isMount(path string) bool { return path != "/" && isSubtree(path) }

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
