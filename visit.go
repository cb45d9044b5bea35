package footfall

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/footfall-dev/footfall/internal/pattern"
	"github.com/footfall-dev/footfall/internal/respwriter"
)

// Visit is one request on its way through a middleware: noted before the handler,
// which may change the request, and ended after it. Adapters for frameworks whose
// requests are net/http's use it; it belongs to the goroutine of the request.
type Visit struct {
	rules  *Rules
	outer  *http.Request // as it came
	inner  *http.Request // as it goes on: outer, or a copy with another context
	page   Page
	copy   *copied              // where inner is, if it is a copy
	answer *respwriter.Recorder // of the writer that was handed down; nil if none was

	// unseen says that nobody but the server gets outer back, which wants to know
	// nothing of it but the form.
	unseen bool
}

// copied is the copy of a request that goes on, and what belongs to it, in one
// allocation.
type copied struct {
	request http.Request
	context valueContext
	answer  respwriter.Recorder
}

// Visit notes a request as it comes in.
func (s *Rules) Visit(r *http.Request) (v Visit) {
	v.begin(s, r)
	return v
}

func (v *Visit) begin(s *Rules, r *http.Request) {
	v.rules, v.outer, v.inner = s, r, r
	if !s.tracker.inactive() {
		s.tracker.pager.note(&v.page, r)
	}
	if s.tracker == nil || !s.tracker.noContext {
		v.handDown(s.tracker)
	}
}

// handDown makes inner a copy of outer in whose context t and the page are found, unless
// an adapter did so.
func (v *Visit) handDown(t *Tracker) {
	ctx := v.outer.Context()
	if c, ok := ctx.(*valueContext); ok && c.known && c.tracker == t && c.page == v.page {
		return
	}
	v.copy = new(copied)
	c := &v.copy.context
	c.Context, c.tracker, c.known, c.page = ctx, t, true, v.page
	c.method, c.routes = v.outer.Method, v.rules.routes
	v.copy.request = *v.outer.WithContext(c) // what WithContext makes does not escape
	v.inner = &v.copy.request
}

// SetRoute notes the pattern that the request matched, for routers that know it before the
// handler runs. It is called before the handler.
func (v *Visit) SetRoute(route string) {
	v.page.route = route
	if v.copy != nil {
		v.copy.context.page.route = route
	}
}

// isServers reports whether h is the handler that the server of r calls, so that no
// other stands above it.
func isServers(h http.Handler, r *http.Request) bool {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	return ok && server != nil && server.Handler == h
}

// Writer returns a writer to hand down in place of w, which can do what w can and
// notes the status of the answer. It is for frameworks that do not tell what was sent.
func (v *Visit) Writer(w http.ResponseWriter) http.ResponseWriter {
	if v.copy != nil {
		v.answer = &v.copy.answer
	} else {
		v.answer = new(respwriter.Recorder)
	}
	return respwriter.Wrap(w, v.answer)
}

// Status returns the status of the answer that went through Writer, 0 before it has
// begun. It is 101 for a connection that the handler took over.
func (v *Visit) Status() int {
	if v.answer == nil {
		return 0
	}
	return v.answer.Status
}

// Request returns the request to hand down: the one that came, or a copy in whose
// context Track finds tracker and page.
func (v *Visit) Request() *http.Request { return v.inner }

// End makes the events of the request, which is answered. Page of o is the visit's;
// Method and Request are filled in where they are empty. Request is the one the handler
// had, if the framework replaced the one that was handed down.
//
// What the handler did to a copy of the request is put back on the request that
// came, as if there had been no copy. So the server removes the files of a
// multipart form; of a form on a copy it knows nothing (golang/go#58809).
func (v *Visit) End(o Observation) { v.end(&o) }

func (v *Visit) end(o *Observation) {
	if o.Request == nil {
		o.Request = v.inner
	}
	switch {
	case o.Request == v.outer:
	case v.unseen:
		set(&v.outer.MultipartForm, o.Request.MultipartForm)
	default:
		handBack(v.outer, o.Request)
	}
	if o.Method == "" {
		o.Method = o.Request.Method
	}
	o.Page = v.page
	v.rules.Observe(o)
}

// handBack writes fields only if they changed: an outer middleware may be reading
// the others in another goroutine. Body is left out, for it may not be comparable.
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

// setValues is set for maps. Both requests begin with the same maps and share what the
// handler writes into them, so only a new map has to be put back.
func setValues(field *url.Values, value url.Values) {
	if reflect.ValueOf(*field).UnsafePointer() != reflect.ValueOf(value).UnsafePointer() {
		*field = value
	}
}
