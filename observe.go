package footfall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"

	"github.com/footfall-dev/footfall/internal/pattern"
)

// Observation is one answered request as a middleware saw it. Adapters for
// frameworks fill it in; so does the net/http middleware.
type Observation struct {
	Method  string
	Route   string // the pattern the request matched, as registered; "" if none did
	Status  int    // the final one; 500 for a panic
	Aborted bool   // the handler ended with http.ErrAbortHandler
	Page    Page   // as the request came in: see Tracker.Page

	// Header is the header of the answer; an http.Header is one. Location tells redirects
	// to the same page in another spelling, such as routers make from /docs to /docs/,
	// which are no visits: the request that follows is. Content-Type and Content-Range tell
	// what AnyRoute leaves out. It may be nil.
	Header Header

	Path PathValuer // the values of the pattern's wildcards; may be nil

	// Context is the context of the request as it came. The events are of the site that
	// [WithSite] set in it. Nil means the context of Request.
	Context context.Context

	// Request is what Config.Skip, the check for a prefetch, and PageReferer
	// look at. Nil in frameworks that have none: they check for themselves.
	Request *http.Request
}

// Header gives the values of an answer's header fields. An http.Header does.
type Header interface {
	Get(name string) string
}

// Headers names the headers of a request that are looked at, for adapters that have
// to copy them.
type Headers struct {
	Page     []string // by Tracker.Page
	Observed []string // by Rules.Observe
	All      bool     // by Rules.Observe, for Config.Skip is set
}

// Needed reports whether Observe looks at the headers of a request by this method:
// what browsers fetch ahead they GET.
func (h Headers) Needed(method string) bool {
	return h.All || method == http.MethodGet || len(h.Observed) > len(prefetchHeaders)
}

// Headers names the headers that the rules and the tracker's configuration call for.
func (s *Rules) Headers() (h Headers) {
	if s.tracker.inactive() {
		return h
	}
	h.All = s.tracker.skip != nil
	h.Observed = append(h.Observed, prefetchHeaders[:]...)
	h.Page = s.tracker.pager.headers()
	if s.referer {
		h.Observed = append(h.Observed, "Referer")
	}
	return h
}

// Page returns the page that r was made for: what a middleware must note before
// the handler, which may change r, runs.
func (t *Tracker) Page(r *http.Request) Page {
	if t.inactive() {
		return Page{}
	}
	return t.pager.page(r)
}

// Observe makes the events of one answered request. Like Track it never blocks;
// a panic or runtime.Goexit in Config.Skip is logged and leaves the request out.
func (s *Rules) Observe(o *Observation) {
	if s.empty() {
		return
	}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			s.panicked(v)
		} else if !returned {
			s.tracker.reporter.invalid(errGoexit)
		}
	}()
	s.observe(o)
	returned = true
}

// panicked tells the log of a panic in a function of the application or of an adapter.
func (s *Rules) panicked(v any) {
	s.tracker.reporter.invalid(fmt.Errorf("footfall: panic in Config.Skip or in an adapter: %v", v))
}

// errGoexit is why a request makes no event whose goroutine ended in a function of the
// application.
var errGoexit = errors.New("footfall: runtime.Goexit was called in Config.Skip or in an adapter")

func (s *Rules) observe(o *Observation) {
	rules, route := s.candidates(o)
	missed := len(s.none) > 0 && o.missed()
	if len(rules) == 0 && !missed || o.respelt() || s.skipped(o) {
		return
	}
	if !s.apply(rules, route, o) && missed {
		s.apply(s.none, pattern.Pattern{}, o)
	}
}

// apply reports whether a rule wanted the answer.
func (s *Rules) apply(rules []rule, route pattern.Pattern, o *Observation) (wanted bool) {
	for i := range rules {
		if r := &rules[i]; r.names(route, o.Method) && r.wants(o) {
			wanted = true
			s.emit(r, o)
		}
	}
	return wanted
}

// missed reports whether the answer says that there is no such route: a catch-all says it
// for the router.
func (o *Observation) missed() bool {
	return (o.Status == http.StatusNotFound || o.Status == http.StatusMethodNotAllowed) && (o.Route == "" || pattern.IsCatchAll(o.Route))
}

// respelt reports whether the answer is a redirect to the page it is an answer to.
func (o *Observation) respelt() bool {
	if o.Header == nil || o.Status < 300 || o.Status > 399 {
		return false
	}
	location := o.Header.Get("Location")
	if location == "" {
		return false
	}
	to, err := url.Parse(location)
	return err == nil && (to.Host == "" || to.Host == o.Page.host) &&
		to.Path != o.Page.path && path.Clean("/"+to.Path) == path.Clean("/"+o.Page.path)
}

func (s *Rules) skipped(o *Observation) bool {
	if o.Request == nil {
		return false
	}
	return o.Request.Method == http.MethodGet && isPrefetch(o.Request.Header) || s.tracker.skip != nil && s.tracker.skip(o.Request)
}

var prefetchHeaders = [...]string{"Sec-Purpose", "Purpose", "X-Moz"}

// isPrefetch recognises requests that browsers make before anybody clicks. They are GETs.
func isPrefetch(h http.Header) bool {
	for _, name := range prefetchHeaders {
		if v := h[name]; len(v) > 0 && len(v[0]) >= len("prefetch") && v[0][:len("prefetch")] == "prefetch" {
			return true
		}
	}
	return false
}

// wants reports whether the rule makes an event of this answer.
func (r *rule) wants(o *Observation) bool {
	if isSilent(o.Method) && r.pattern.Method != o.Method {
		return false
	}
	if r.Route == AnyRoute && !r.Assets && o.isAsset() {
		return false
	}
	classes := r.Status
	if classes == 0 {
		classes = Success | Failure
		if r.Route != NoRoute && o.missed() {
			classes = 0 // it is for NoRoute
		}
	}
	return classes&classOf(o) != 0
}

// isSilent is true for methods by which nobody sees a page or does something.
func isSilent(method string) bool {
	return method == http.MethodHead || method == http.MethodOptions || method == http.MethodConnect || method == http.MethodTrace
}

func (s *Rules) emit(r *rule, o *Observation) {
	if r.Event == NoEvent {
		return
	}
	page := &o.Page
	page.route = o.Route
	d := draft{siteID: r.SiteID, name: r.Event, page: page, props: r.Props}
	if d.siteID == "" {
		d.siteID = o.site()
	}
	if d.name == "" {
		d.name = r.autoName(o)
	}
	if r.Page != 0 {
		own := page.from(r.Page, o.referer())
		d.page = &own
	}
	if len(r.PathProps) > 0 && o.Path != nil || r.StatusProp != "" {
		d.props = r.propsOf(o, &d)
	}
	_ = s.tracker.accept(&d, nil) // counted and reported there
}

func (r *rule) autoName(o *Observation) string {
	if r.Route == NoRoute {
		return autoName(o.Method, NoRoute, "")
	}
	return autoName(o.Method, o.Route, o.Page.path)
}

func (o *Observation) referer() string {
	if o.Request == nil {
		return ""
	}
	return o.Request.Referer()
}

// site returns the site that WithSite set above the middleware, or "".
func (o *Observation) site() string {
	if o.Context == nil && o.Request != nil {
		return siteFrom(o.Request.Context())
	}
	return siteFrom(o.Context)
}

// propsOf returns the props of r and those of the answer. Values of wildcards are the
// client's, and are made fit to be sent.
func (r *rule) propsOf(o *Observation, d *draft) []Prop {
	props := make([]Prop, 0, len(r.Props)+len(r.PathProps)+1)
	props = append(props, r.Props...)
	if r.StatusProp != "" {
		props = append(props, P(r.StatusProp, o.Status))
	}
	if o.Path == nil {
		return props
	}
	for _, name := range r.PathProps {
		value, sanitized := sanitize(o.Path.PathValue(name))
		d.sanitized = d.sanitized || sanitized
		props = append(props, P(name, value))
	}
	return props
}
