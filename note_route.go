package footfall

import (
	"net/http"
	"sync/atomic"
)

// NoteRoute returns a handler that calls mux and tells the middleware above which pattern the request matched. Put it
// directly around the mux if a middleware between the two copies the request, such as http.TimeoutHandler or one that
// calls WithContext: otherwise the pattern is not known to [Tracker.Middleware]. The pattern is also known of an answer that such
// a middleware writes before the handler returns, but not the values of [Rule.PathProps]. It does not make events, needs the value in
// the context (see [Config.NoContextValue]), and finds the pattern of each request once more.
func NoteRoute(mux *http.ServeMux) http.Handler { return noting{mux} }

// noting is a mux whose patterns are noted.
type noting struct{ *http.ServeMux }

// notedRoute is a pattern that a request matched. It never changes.
type notedRoute struct {
	pattern string
	values  PathValuer // nil while the handler runs, which may change them
}

// notes is where a request's pattern is noted. The handler may run on another goroutine than the middleware.
type notes = atomic.Pointer[notedRoute]

// notedRoute returns the pattern that was noted, or "".
func (r *routedRequest) notedRoute() string {
	if r == nil || r.noted == nil {
		return ""
	}
	if noted := r.noted.Load(); noted != nil {
		return noted.pattern
	}
	return ""
}

// ServeHTTP implements http.Handler.
func (n noting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := valueFrom(r.Context())
	if v == nil || v.request.noted == nil {
		n.ServeMux.ServeHTTP(w, r)
		return
	}
	if _, pattern := n.Handler(r); pattern != "" {
		v.request.noted.Store(&notedRoute{pattern: pattern})
	}
	defer func() {
		if r.Pattern != "" {
			v.request.noted.Store(&notedRoute{r.Pattern, r})
		}
	}()
	n.ServeMux.ServeHTTP(w, r)
}
