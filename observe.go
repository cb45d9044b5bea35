package footfall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
)

// Observation is one answered request as a middleware saw it. Adapters for
// frameworks fill it in; so does the net/http middleware.
type Observation struct {
	Method  string
	Route   string // the pattern the request matched, as registered; "" if none did
	Status  int    // the final one; 500 for a panic
	Aborted bool   // the handler ended with http.ErrAbortHandler
	Page    Page   // as the request came in: see Tracker.Page

	// Location is the header of that name, if Status is 3xx. A redirect to the
	// same page in another spelling, such as routers make from /docs to /docs/,
	// is no visit: the request that follows is.
	Location string

	Path PathValuer // the values of the pattern's wildcards; may be nil

	// Context is the context of the request as it came. The events are of the site that
	// [WithSite] set in it. Nil means the context of Request.
	Context context.Context

	// Request is what Config.Skip, the check for a prefetch, and RefererPage
	// look at. Nil in frameworks that have none: they check for themselves.
	Request *http.Request
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
	if s.tracker.pager.believes() {
		h.Page = []string{"X-Forwarded-Proto", "X-Forwarded-Host"}
	}
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
			s.tracker.reporter.invalid(fmt.Errorf("footfall: panic in Config.Skip or in an adapter: %v", v))
		} else if !returned {
			s.tracker.reporter.invalid(errGoexit)
		}
	}()
	s.observe(o)
	returned = true
}

// errGoexit is why a request makes no event whose goroutine ended in a function of the
// application.
var errGoexit = errors.New("footfall: runtime.Goexit was called in Config.Skip or in an adapter")

func (s *Rules) observe(o *Observation) {
	rules, route := s.candidates(o)
	if len(rules) == 0 || o.respelt() || s.skipped(o) {
		return
	}
	for i := range rules {
		if r := &rules[i]; r.names(route, o.Method) && r.wants(o) {
			s.emit(r, o)
		}
	}
}

// respelt reports whether the answer is a redirect to the page it is an answer to.
func (o *Observation) respelt() bool {
	if o.Location == "" {
		return false
	}
	to, err := url.Parse(o.Location)
	return err == nil && to.Host == "" && to.Path != o.Page.path && path.Clean("/"+to.Path) == path.Clean("/"+o.Page.path)
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
	if isSilent(o.Method) && r.pattern.method != o.Method {
		return false
	}
	classes := r.Status
	if classes == 0 {
		classes = Success | ClientError | ServerError
	}
	return classes&classOf(o) != 0
}

// isSilent is true for methods by which nobody sees a page or does something.
func isSilent(method string) bool {
	return method == http.MethodHead || method == http.MethodOptions || method == http.MethodConnect || method == http.MethodTrace
}

func (s *Rules) emit(r *rule, o *Observation) {
	d := draft{siteID: r.SiteID, name: r.Event, page: &o.Page, props: r.Props}
	if d.siteID == "" {
		d.siteID = o.site()
	}
	if d.name == "" {
		d.name = autoName(o.Method, o.Route)
	}
	if r.RefererPage && o.Request != nil {
		if page := s.tracker.pager.referer(o.Request.Referer()); page.usable() {
			d.page = &page
		}
	}
	if len(r.PathProps) > 0 && o.Path != nil {
		d.props = r.withPathProps(o)
	}
	_ = s.tracker.accept(&d, nil) // counted and reported there
}

// site returns the site that WithSite set above the middleware, or "".
func (o *Observation) site() string {
	if o.Context == nil && o.Request != nil {
		return siteFrom(o.Request.Context())
	}
	return siteFrom(o.Context)
}

func (r *rule) withPathProps(o *Observation) []Prop {
	props := make([]Prop, 0, len(r.Props)+len(r.PathProps))
	props = append(props, r.Props...)
	for _, name := range r.PathProps {
		props = append(props, P(name, o.Path.PathValue(name)))
	}
	return props
}
