package footfall

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/internal/pattern"
	"github.com/footfall-dev/footfall/internal/pii"
)

// Routes of a [Rule] that are not patterns.
const (
	// AnyRoute means every route that no other rule names, whatever the Status of that rule.
	// It leaves out the answers that [Rule.Assets] lists, and requests that programs make, not
	// visitors. A rule that names the route makes events of such requests all the same. Their
	// paths are /robots.txt, /ads.txt, /favicon.ico, /apple-touch-icon.png,
	// /apple-touch-icon-precomposed.png, /sitemap.xml, /site.webmanifest, /manifest.json,
	// /health, /healthz, /livez, /readyz, /ready, /live, /ping, /metrics, /csp, /csp-report,
	// all below /.well-known/ and /debug/, and the methods of grpc.health.v1.Health.
	AnyRoute = "*"
	// NoRoute means requests that no route matches: 404 and 405. A 404 or 405 of a catch-all,
	// such as "/files/*", "/files/{path...}" and net/http's "/files/", counts too, except for
	// a rule that names the route and Status4xx. Without a rule for NoRoute, such requests
	// make no event.
	NoRoute = "-"
)

// NoEvent is the Event of a rule whose route makes no event, such as a health check.
const NoEvent = "-"

// Rule defines which answered requests make an event. For conditions that a rule cannot express,
// call Track in the handler.
type Rule struct {
	// Route is the route's pattern as it was registered, such as "POST /checkout", "GET
	// /products/{id}" or "/docs/", or AnyRoute or NoRoute. A rule without a method applies to
	// the route with any method, except HEAD, OPTIONS, CONNECT and TRACE, which a rule must
	// name. Required.
	Route string

	// Event is the name of the event, or NoEvent. Empty means a name made of method and
	// pattern: get_products_id for "GET /products/{id}", get_root for "GET /", and
	// get_no_route for NoRoute. For a catch-all without a wildcard's name, "/docs/*" or
	// net/http's "/docs/", the name ends with any if the path is longer: get_docs_any. A name
	// longer than [Limits].Name is cut and ends with a hash of the whole name.
	Event string

	// TrimPrefix is left out of automatic names if the path of the route begins with it: with
	// "/api", the name for "GET /api/products" is get_products. Defaults to none.
	TrimPrefix string

	// SiteID is the site of the rule's events, for programs that serve several sites. It
	// does not apply to Track in the handler, because the middleware evaluates the rules
	// after the handler returns. Empty means the site of the request's context ([WithSite]),
	// else Config.SiteID.
	SiteID string

	// Status is the set of classes of answers that make an event, such as Success. Defaults
	// to all except Aborted.
	Status StatusClass

	// Props are added to every event of the rule.
	Props []Prop

	// PathProps lists wildcards of the pattern whose values become props of the same name:
	// "id" for "GET /products/{id}". With AnyRoute, the value is empty on routes without that
	// wildcard. A value is cut after 1,000 bytes, or [Limits].PropText if that is less, and
	// U+FFFD replaces control characters and invalid UTF-8.
	PathProps []string

	// PropsOf returns more props for an event of the rule, such as the tenant or the plan of the
	// visitor. It runs after the handler, on the request's goroutine, and must not keep r or change
	// it. The context of r has the values of middlewares above this one; rely on no others. In
	// Fiber, gRPC and connect, r has method, host, URL, headers and address only.
	// Texts are cut and cleaned like values of PathProps. A panic or runtime.Goexit has the effects
	// that Config.Skip describes. Without PropsOf, a request costs no more. Defaults to none.
	PropsOf func(r *http.Request) []Prop

	// StatusProp is the key of a prop with the status of the answer, such as 201. Defaults
	// to none.
	StatusProp string

	// Page is the page of the rule's events. Defaults to the page of Config.Page and
	// Config.PageHeader.
	Page PageSource

	// Assets includes answers that a rule for AnyRoute leaves out by default: style sheets,
	// scripts, images, fonts, audio and video, by the Content-Type of the answer, answers of
	// status 304, and parts of a file other than its beginning (RFC 9110, section 14). Other
	// rules always include them.
	Assets bool
}

// Prefix returns a copy of rules with prefix, such as "/api/v2", before the path of each route.
// It does not change AnyRoute and NoRoute, nor any route if prefix is empty or "/". It is for
// routes that are mounted at a configured path.
func Prefix(prefix string, rules ...Rule) []Rule {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix = "/" + prefix
	}
	prefixed := slices.Clone(rules)
	for i := range prefixed {
		if slash := strings.IndexByte(prefixed[i].Route, '/'); slash >= 0 {
			prefixed[i].Route = prefixed[i].Route[:slash] + prefix + prefixed[i].Route[slash:]
		}
	}
	return prefixed
}

// StatusClass is a set of classes of HTTP status; combine them with |.
type StatusClass uint8

const (
	// Status2xx is 2xx and 101.
	Status2xx StatusClass = 1 << iota
	// Status3xx is 3xx.
	Status3xx
	// Status4xx is 4xx.
	Status4xx
	// Status5xx is 5xx. A handler that panicked counts as 500.
	Status5xx
	// Aborted is a handler that ended with http.ErrAbortHandler. The client did not get a
	// complete answer.
	Aborted

	// Success is Status2xx and Status3xx, because the answer to a form is often a redirect. If
	// a handler, such as a login, also redirects on failure, call Track in the handler.
	Success = Status2xx | Status3xx
	// Failure is Status4xx and Status5xx.
	Failure = Status4xx | Status5xx
)

func classOf(o *Observation) StatusClass {
	switch {
	case o.Aborted:
		return Aborted
	case o.Status >= 500:
		return Status5xx
	case o.Status >= 400:
		return Status4xx
	case o.Status >= 300:
		return Status3xx
	}
	return Status2xx
}

// rule is a Rule with its pattern split.
type rule struct {
	Rule
	pattern pattern.Pattern
	head    string // the JSON text of site and name, if Event is set; SiteID may be the default
}

// Rules is a set of valid rules of a tracker, for adapters: see [Rules.Observe]. Its methods may
// be called from several goroutines.
type Rules struct {
	tracker *Tracker
	byPath  map[string][]rule
	named   routeTable
	any     []rule
	none    []rule
	referer bool         // a rule has PageReferer
	propsOf bool         // a rule has PropsOf
	routes  *routeFinder // of the net/http middleware; nil in adapters
}

// routeTable finds the rules of a route as they write it, without parsing it. Up to maxCompared
// comparisons take less time than a map.
type routeTable struct {
	all  []*routeRules
	many map[string]*routeRules
}

const maxCompared = 8

func (t *routeTable) add(r *routeRules) {
	if t.many[r.text] == nil {
		t.all = append(t.all, r)
	}
	t.many[r.text] = r
}

func (t *routeTable) find(route string) *routeRules {
	if len(t.all) > maxCompared {
		return t.many[route]
	}
	for _, r := range t.all {
		if r.text == route {
			return r
		}
	}
	return nil
}

// routeRules is a route and the rules that may apply to it.
type routeRules struct {
	text    string
	pattern pattern.Pattern
	route   pii.Route
	rules   []rule
}

// Rules checks rules and returns the valid ones. It logs the others: see [Tracker.CheckRoutes].
func (t *Tracker) Rules(rules ...Rule) *Rules {
	set, err := t.compile(rules)
	t.report(err)
	return set
}

func (t *Tracker) compile(rules []Rule) (*Rules, error) {
	set := &Rules{tracker: t, byPath: make(map[string][]rule), named: routeTable{many: make(map[string]*routeRules)}}
	if t.inactive() {
		return set, nil
	}
	var problems []error
	for _, r := range rules {
		if err := t.checkRule(&r); err != nil {
			problems = append(problems, err)
			continue
		}
		r.Props, r.PathProps = slices.Clone(r.Props), slices.Clone(r.PathProps)
		if t.watch != nil && r.Event != "" && r.Event != NoEvent {
			t.watch.RuleEvent(r.Event)
		}
		set.add(rule{r, pattern.Parse(r.Route), t.encoder.headOf(r.SiteID, r.Event)})
	}
	for _, group := range set.byPath {
		for i := range group {
			route := group[i].Route
			set.named.add(&routeRules{route, group[i].pattern, pii.NewRoute(route), group})
		}
	}
	return set, errors.Join(problems...)
}

// empty reports whether the set makes no events, such as the set of a disabled tracker.
func (s *Rules) empty() bool { return len(s.byPath)+len(s.any)+len(s.none) == 0 }

func (s *Rules) add(r rule) {
	s.referer, s.propsOf = s.referer || r.Page == PageReferer, s.propsOf || r.PropsOf != nil
	switch r.Route {
	case AnyRoute:
		s.any = append(s.any, r)
	case NoRoute:
		s.none = append(s.none, r)
	default:
		s.byPath[r.pattern.Path] = append(s.byPath[r.pattern.Path], r)
	}
}

// checkRule checks the fields of a rule. It encodes an event with what the rule knows of it.
func (t *Tracker) checkRule(r *Rule) error {
	if r.Route == "" {
		return ruleError(r, "Route", "empty: set it to a registered pattern, AnyRoute or NoRoute")
	}
	if p := pattern.Parse(r.Route); r.Route != AnyRoute && r.Route != NoRoute && !strings.HasPrefix(p.Path, "/") {
		return ruleError(r, "Route", "has no path: write it as the router does, such as \"GET /pricing\"")
	}
	for _, name := range r.PathProps {
		if r.Route != AnyRoute && !pattern.HasWildcard(r.Route, name) {
			return ruleError(r, "PathProps", strconv.Quote(name)+" is not a wildcard of the route")
		}
	}
	if r.Status&^(Success|Failure|Aborted) != 0 {
		return ruleError(r, "Status", "not a set of classes, such as Success or Status4xx|Status5xx: a rule cannot name a single status")
	}
	if !r.Page.valid() {
		return ruleError(r, "Page", "not one of PagePath, PageRoute and PageReferer")
	}
	name := r.Event
	if name == "" {
		name = t.autoName(r, "GET", r.Route, "", false)
	}
	d := draft{siteID: r.SiteID, name: name, url: "https://example.com/", props: slices.Clip(r.Props)}
	if r.StatusProp != "" {
		d.props = append(d.props, P(r.StatusProp, http.StatusOK))
	}
	for _, name := range r.PathProps {
		d.props = append(d.props, P(name, ""))
	}
	_, _, err := t.encoder.append(nil, &d)
	if bad, ok := errors.AsType[*FieldError](err); ok {
		if bad.Field == "site_id" {
			return ruleError(r, "SiteID", bad.Reason)
		}
		return ruleError(r, "", bad.Field+": "+bad.Reason)
	}
	return err
}

func ruleError(r *Rule, field, reason string) error {
	name := "Rule{" + strconv.Quote(r.Route) + "}"
	if field != "" {
		name += "." + field
	}
	return &FieldError{name, reason}
}

// candidates notes the route in the page, and returns the rules that may apply to it and the
// split route. They are the rules that name the route, or the rules for AnyRoute if there are none. The rules
// for AnyRoute are left out if an adapter below observes what was asked for.
func (s *Rules) candidates(o *Observation, elsewhere bool) ([]rule, pattern.Pattern) {
	if o.Route == "" {
		o.Page.route = pii.Route{}
		return nil, pattern.Pattern{}
	}
	var rules []rule
	var route pattern.Pattern
	if known := s.named.find(o.Route); known != nil {
		rules, route, o.Page.route = known.rules, known.pattern, known.route
	} else {
		route, o.Page.route = pattern.Parse(o.Route), pii.Route{Pattern: o.Route}
		rules = s.byPath[route.Path]
	}
	for i := range rules {
		if rules[i].names(&route, o.Method) {
			return rules, route
		}
	}
	if elsewhere {
		return nil, route
	}
	return s.any, route
}

// names reports whether the rule applies to a route with its path and to the method.
func (r *rule) names(route *pattern.Pattern, method string) bool {
	if r.Route == AnyRoute || r.Route == NoRoute {
		return true
	}
	return r.pattern.Covers(route, method)
}

// autoName is pattern.EventName within the limit of names. The route may be NoRoute.
func (t *Tracker) autoName(r *Rule, method, route, path string, subtree bool) string {
	if route == NoRoute {
		route = ""
	}
	if r.TrimPrefix != "" {
		route, path = pattern.TrimPrefix(route, path, r.TrimPrefix)
	}
	return pattern.ShortName(pattern.EventName(method, route, path, subtree), t.encoder.limits.Name)
}

// isForPrograms reports whether programs ask for a path: crawlers, probes, and browsers by themselves.
// AnyRoute documents the list.
func isForPrograms(path string) bool {
	switch strings.TrimSuffix(path, "/") {
	case "/robots.txt", "/ads.txt", "/favicon.ico", "/apple-touch-icon.png", "/apple-touch-icon-precomposed.png",
		"/sitemap.xml", "/site.webmanifest", "/manifest.json",
		"/health", "/healthz", "/livez", "/readyz", "/ready", "/live", "/ping", "/metrics", "/csp", "/csp-report":
		return true
	}
	return strings.HasPrefix(path, "/.well-known/") || strings.HasPrefix(path, "/debug/") || strings.HasPrefix(path, "/grpc.health.v1.Health/")
}

// isAsset reports whether the answer is a part of a page, unchanged since the client's last
// request, or a later part of a file.
func (o *Observation) isAsset() bool {
	if o.Status == http.StatusNotModified || o.Status == http.StatusRequestedRangeNotSatisfiable {
		return true
	}
	if o.Header == nil {
		return false
	}
	if o.Status == http.StatusPartialContent && !isFirstRange(o.Header.Get("Content-Range")) {
		return true
	}
	return isAssetType(o.Header.Get("Content-Type"))
}

// isFirstRange reports whether a Content-Range (RFC 9110, section 14.4) begins with the first
// byte. An answer of several ranges has no such field in its header, and is a later part.
func isFirstRange(field string) bool { return strings.HasPrefix(field, "bytes 0-") }

// isAssetType reports whether files of a Content-Type are parts of pages.
func isAssetType(field string) bool {
	kind, subtype, _ := strings.Cut(strings.ToLower(field), "/")
	subtype, _, _ = strings.Cut(subtype, ";")
	switch kind {
	case "image", "font", "audio", "video":
		return true
	case "text":
		return subtype == "css" || subtype == "javascript"
	case "application":
		switch strings.TrimSpace(subtype) {
		case "javascript", "x-javascript", "wasm", "manifest+json", "font-woff", "font-woff2", "vnd.ms-fontobject":
			return true
		}
	}
	return false
}
