package footfall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/internal/pattern"
	"github.com/footfall-dev/footfall/internal/pii"
	"github.com/footfall-dev/footfall/internal/respwriter"
)

// Observation is one answered request as a middleware observed it. Adapters for frameworks and
// the net/http middleware fill it in.
type Observation struct {
	Method  string
	Route   string // the pattern that the request matched, as registered, or ""
	Subtree bool   // Route also matches all longer paths, although its text does not say so
	Status  int    // the final one; 500 for a panic
	Aborted bool   // the handler ended with http.ErrAbortHandler
	Page    Page   // as the request came in: see Tracker.Page

	// Header is the header of the answer, such as an http.Header. It may be nil. Observe uses
	// Location to leave out redirects to another spelling of the same page, such as from /docs
	// to /docs/, because the request that follows is the visit. It uses Content-Type and
	// Content-Range for the answers that AnyRoute leaves out.
	Header HeaderGetter

	Path PathValuer // the values of the pattern's wildcards; may be nil

	// Context is the context of the request as it came. The events belong to the site that
	// [WithSite] set in it. Nil means the context of Request.
	Context context.Context

	// Request is used by Config.Skip, Rule.PropsOf, the check for a prefetch and PageReferer. It is nil
	// in frameworks that do not use net/http; their adapters make these checks.
	Request *http.Request
}

// HeaderGetter returns the values of an answer's header fields. An http.Header implements it.
type HeaderGetter interface {
	Get(name string) string
}

// NeededHeaders names the headers of a request that the rules use, for adapters that have to copy
// them.
type NeededHeaders struct {
	Page     []string // by Tracker.Page
	Observed []string // by Rules.Observe
	All      bool     // by Rules.Observe, because Config.Skip or Rule.PropsOf is set
}

// Needed reports whether Observe looks at the headers of a request with this method. Browsers
// prefetch with GET only.
func (h NeededHeaders) Needed(method string) bool {
	return h.All || method == http.MethodGet || len(h.Observed) > len(prefetchHeaders)
}

// NeededHeaders returns the headers that the rules and the tracker's configuration use.
func (s *Rules) NeededHeaders() (h NeededHeaders) {
	if s.tracker.inactive() {
		return h
	}
	h.All = s.tracker.skip != nil || s.propsOf
	h.Observed = append(h.Observed, prefetchHeaders[:]...)
	h.Page = s.tracker.pager.headers()
	if s.referer {
		h.Observed = append(h.Observed, "Referer")
	}
	return h
}

// Page returns the page that r requests. A middleware calls it before the handler, which may
// change r.
func (t *Tracker) Page(r *http.Request) Page {
	if t.inactive() {
		return Page{}
	}
	return t.pager.page(r)
}

// Observe makes the events of one answered request. Like Track, it never blocks. It logs a panic
// or runtime.Goexit in Config.Skip or Rule.PropsOf, and then makes no event of the request.
func (s *Rules) Observe(o *Observation) { s.observeUnless(o, false) }

// observeUnless is Observe. Rules for AnyRoute make no event if an adapter below observes what was asked for.
func (s *Rules) observeUnless(o *Observation, elsewhere bool) {
	if s.empty() {
		return
	}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			s.panicked(v)
		} else if !returned {
			s.tracker.reporter.invalid("", errGoexit)
		}
	}()
	s.observe(o, elsewhere)
	returned = true
}

// panicked reports a panic in a function of the application or of an adapter.
func (s *Rules) panicked(v any) {
	s.tracker.reporter.invalid("", fmt.Errorf("footfall: panic in Config.Skip, Rule.PropsOf or an adapter: %v", v))
}

// errGoexit is reported if a function of the application ended the goroutine of a request.
var errGoexit = errors.New("footfall: runtime.Goexit was called in Config.Skip, Rule.PropsOf or an adapter")

func (s *Rules) observe(o *Observation, elsewhere bool) {
	rules, route := s.candidates(o, elsewhere)
	missed := len(s.none) > 0 && o.missed()
	if len(rules) == 0 && !missed || o.respelt() || s.skipped(o) {
		return
	}
	if !s.apply(rules, route, o) && missed {
		s.apply(s.none, pattern.Pattern{}, o)
	}
}

// apply makes the events of the rules that want the answer, and reports whether one does.
func (s *Rules) apply(rules []rule, route pattern.Pattern, o *Observation) (wanted bool) {
	for i := range rules {
		if r := &rules[i]; r.names(&route, o.Method) && r.wants(o) {
			wanted = true
			s.emit(r, o)
		}
	}
	return wanted
}

// missed reports whether the answer means that there is no such route. The answer may come
// from the handler of a catch-all instead of the router.
func (o *Observation) missed() bool {
	return (o.Status == http.StatusNotFound || o.Status == http.StatusMethodNotAllowed) && (o.Route == "" || o.Subtree || pattern.IsCatchAll(o.Route))
}

// respelt reports whether the answer is a redirect to another spelling of the same page, by one
// of the statuses that routers use. Handlers answer a form with 302 or 303.
func (o *Observation) respelt() bool {
	switch o.Status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return false
	}
	if o.Header == nil {
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

// isPrefetch reports whether a browser made a request before the visitor clicked.
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
	if r.Route == AnyRoute && (!r.Assets && o.isAsset() || isForPrograms(o.Page.path)) {
		return false
	}
	classes := r.Status
	if classes == 0 {
		classes = Success | Failure
		if r.Route != NoRoute && o.missed() {
			classes = 0 // the rules for NoRoute apply
		}
	}
	return classes&classOf(o) != 0
}

// isSilent reports whether a method neither shows a page nor does something.
func isSilent(method string) bool {
	return method == http.MethodHead || method == http.MethodOptions || method == http.MethodConnect || method == http.MethodTrace
}

func (s *Rules) emit(r *rule, o *Observation) {
	if r.Event == NoEvent {
		return
	}
	from := o.defaults()
	d := draft{siteID: r.SiteID, name: r.Event, head: r.head, page: &o.Page, props: r.Props, more: from.props, touch: from.touch}
	if d.siteID == "" && from.siteID != "" {
		d.siteID, d.head = from.siteID, ""
	}
	if d.name == "" {
		d.name = s.autoName(r, o)
	}
	if r.Page != 0 {
		own := o.Page.from(r.Page, o.referer())
		d.page = &own
	}
	if len(r.PathProps) > 0 && o.Path != nil || r.StatusProp != "" || r.PropsOf != nil {
		d.props = r.propsOf(o, &d, min(maxPathProp, s.tracker.encoder.limits.PropText))
	}
	if s.tracker.watch != nil {
		s.tracker.watch.RuleEvent(strings.Clone(d.name)) // o would escape, an allocation for each request
	}
	_ = s.tracker.accept(&d) // accept counts and reports the error
}

func (s *Rules) autoName(r *rule, o *Observation) string {
	if r.Route == NoRoute {
		return s.tracker.autoName(&r.Rule, o.Method, NoRoute, "", false)
	}
	return s.tracker.autoName(&r.Rule, o.Method, o.Route, o.Page.path, o.Subtree)
}

func (o *Observation) referer() string {
	if o.Request == nil {
		return ""
	}
	return o.Request.Referer()
}

// defaults returns what WithSite and WithProps have set above the middleware.
func (o *Observation) defaults() defaults {
	if o.Context == nil && o.Request != nil {
		return defaultsFrom(o.Request.Context())
	}
	return defaultsFrom(o.Context)
}

// propsOf returns the props of r and the props of the request and the answer. It sanitizes the
// values of wildcards and the texts of PropsOf, which the client may have chosen, and cuts them to
// limit bytes.
func (r *rule) propsOf(o *Observation, d *draft, limit int) []Prop {
	props := make([]Prop, 0, len(r.Props)+len(r.PathProps)+1)
	props = append(props, r.Props...)
	if r.StatusProp != "" {
		props = append(props, P(r.StatusProp, o.Status))
	}
	add := func(p Prop) {
		text, sanitized := sanitize(p.str, limit)
		p.str, d.sanitized = text, d.sanitized || sanitized
		props = append(props, p)
	}
	if o.Path != nil {
		for _, name := range r.PathProps {
			add(P(name, o.Path.PathValue(name)))
		}
	}
	if r.PropsOf != nil && o.Request != nil {
		for _, p := range r.PropsOf(o.request()) {
			add(p)
		}
	}
	return props
}

// request returns Request with Context, which frameworks without net/http keep apart.
func (o *Observation) request() *http.Request {
	if o.Context == nil {
		return o.Request
	}
	return o.Request.WithContext(o.Context)
}

// Visit is one request in a middleware. It begins before the handler, which may change the
// request, and ends after it. Adapters for frameworks with requests of net/http use it. A Visit
// must not be used by several goroutines at once.
type Visit struct {
	rules  *Rules
	outer  *http.Request // the original request
	inner  *http.Request // the request for the handler: outer, or a copy with another context
	page   Page
	copy   *copied              // where inner is, if it is a copy
	answer *respwriter.Recorder // of the writer that Writer returned, or nil

	// unseen means that only the server reads outer after the handler, and that it reads only
	// the form.
	unseen bool
}

// copied is the copy of a request, its context and the recorder of its answer, in one
// allocation.
type copied struct {
	request http.Request
	context valueContext
	answer  respwriter.Recorder
	noted   notes
}

// Visit begins the visit of a request, before the handler.
func (s *Rules) Visit(r *http.Request) (v Visit) {
	v.begin(s, r)
	return v
}

func (v *Visit) begin(s *Rules, r *http.Request) {
	v.rules, v.outer, v.inner = s, r, r
	if !s.tracker.inactive() {
		s.tracker.pager.setPage(&v.page, r)
	}
	if s.tracker == nil || !s.tracker.noContext {
		v.handDown(s.tracker)
	}
}

// handDown makes inner a copy of outer whose context holds t and the page, unless an adapter
// above did so.
func (v *Visit) handDown(t *Tracker) {
	ctx := v.outer.Context()
	if c, ok := ctx.(*valueContext); ok && c.known && c.tracker == t && c.page == v.page {
		return
	}
	v.copy = new(copied)
	c := &v.copy.context
	c.Context, c.tracker, c.known, c.page = ctx, t, true, v.page
	c.request = routedRequest{v.outer.Method, v.rules.routes, &v.copy.noted}
	v.copy.request = *v.outer.WithContext(c) // the result of WithContext does not escape
	v.inner = &v.copy.request
}

// noted returns what NoteRoute has noted, or nil.
func (v *Visit) noted() *notedRoute {
	if v.copy == nil {
		return nil
	}
	return v.copy.noted.route.Load()
}

// SetRoute sets the pattern that the request matched, for routers that know it before the
// handler runs. Call it before the handler.
func (v *Visit) SetRoute(route string) {
	v.page.route = pii.Route{Pattern: route}
	if v.copy != nil {
		v.copy.context.page.route = v.page.route
	}
}

// isServers reports whether h is the handler that the server of r calls, so that no other
// middleware is above h.
func isServers(h http.Handler, r *http.Request) bool {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	return ok && server != nil && server.Handler == h
}

// Writer returns a writer for the handler in place of w. It has the same optional interfaces as
// w and notes the status of the answer. It is for frameworks that do not report the status.
func (v *Visit) Writer(w http.ResponseWriter) http.ResponseWriter {
	if v.copy != nil {
		v.answer = &v.copy.answer
	} else {
		v.answer = new(respwriter.Recorder)
	}
	return respwriter.Wrap(w, v.answer)
}

// Status returns the status of the answer that was written to Writer, or 0 before the header is
// written. It is 101 for a connection that the handler took over.
func (v *Visit) Status() int {
	if v.answer == nil {
		return 0
	}
	return v.answer.Status
}

// Request returns the request for the handler: the original, or a copy whose context
// holds the tracker and the page for Track.
func (v *Visit) Request() *http.Request { return v.inner }

// End makes the events of the answered request. It sets o.Page, and sets o.Method and o.Request
// if they are empty. If the framework replaced the request of the visit, o.Request must be the
// one that the handler had.
//
// End writes the changes that the handler made to a copy of the request back to the original
// request. The server then removes the files of a multipart form, which it does not find on a
// copy (golang/go#58809).
func (v *Visit) End(o Observation) { v.end(&o) }

func (v *Visit) end(o *Observation) {
	if o.Request == nil {
		o.Request = v.inner
	}
	v.handBack(o.Request)
	if o.Method == "" {
		o.Method = o.Request.Method
	}
	o.Page = v.page
	v.rules.observeUnless(o, v.copy != nil && v.copy.noted.observed.Load())
}

// handBack copies the handler's changes to the original request. inner is the request that
// the handler had.
func (v *Visit) handBack(inner *http.Request) {
	switch {
	case inner == v.outer:
	case v.unseen:
		set(&v.outer.MultipartForm, inner.MultipartForm)
	default:
		handBack(v.outer, inner)
	}
}

// handBack copies the fields of inner that changed to outer. It writes no others, because another
// goroutine of an outer middleware may read them. It leaves out Body, which may not be
// comparable.
func handBack(outer, inner *http.Request) {
	set(&outer.Pattern, inner.Pattern)
	setValues(&outer.Form, inner.Form)
	setValues(&outer.PostForm, inner.PostForm)
	set(&outer.MultipartForm, inner.MultipartForm)
	set(&outer.Method, inner.Method)
	set(&outer.URL, inner.URL)
	set(&outer.Host, inner.Host)
	set(&outer.RemoteAddr, inner.RemoteAddr)
	set(&outer.RequestURI, inner.RequestURI)
	if !strings.ContainsAny(inner.Pattern, "{:*") {
		return
	}
	for name := range pattern.Wildcards(inner.Pattern) {
		if value := inner.PathValue(name); value != "" && value != outer.PathValue(name) {
			outer.SetPathValue(name, value)
		}
	}
}

func set[T comparable](field *T, value T) {
	if *field != value {
		*field = value
	}
}

// setValues is set for maps. Both requests begin with the same maps and share their entries, so
// setValues copies only a new map.
func setValues(field *url.Values, value url.Values) {
	if reflect.ValueOf(*field).UnsafePointer() != reflect.ValueOf(value).UnsafePointer() {
		*field = value
	}
}

// maxPathProp bounds the value of a PathProp, in bytes. A smaller Limits.PropText does, too.
const maxPathProp = 1000

// sanitize returns up to limit bytes of a text that a client chose, with U+FFFD in place of
// invalid UTF-8 and of control characters.
func sanitize(s string, limit int) (text string, changed bool) {
	if len(s) <= limit && isText(s) {
		return s, false
	}
	text = strings.Map(toText, s[:textLen(s, limit)]) // strings.Map also replaces invalid UTF-8
	return text[:textLen(text, limit)], true
}

// textLen returns the length of the longest beginning of s that has at most limit bytes and ends
// with a whole character.
func textLen(s string, limit int) int {
	if len(s) <= limit {
		return len(s)
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0 }

func toText(r rune) rune {
	if unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}
