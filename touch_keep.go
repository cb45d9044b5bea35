package footfall

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// TouchStore keeps the touch of a visitor in the session that the application has anyway. Its methods are called by
// [Tracker.KeepTouch], on the goroutine of the request, before the handler.
type TouchStore interface {
	// Touch returns the text that SetTouch was last called with in the session of r, or "".
	Touch(r *http.Request) string

	// SetTouch keeps a text of at most 1,024 bytes of printable ASCII in the session of r.
	SetTouch(w http.ResponseWriter, r *http.Request, touch string)
}

// TouchOptions say which touch counts. The zero value means the last one of 30 days.
type TouchOptions struct {
	// First keeps the first touch of a visitor rather than the last one. Either way, a direct one does not replace another.
	First bool

	// Window is the time after which a touch is forgotten. Defaults to 30 days.
	Window time.Duration
}

// KeepTouch returns a middleware that keeps the touch of each visitor in store, and gives it to the events below: see
// [WithTouch]. Put it below the middleware of the session and above [Tracker.Middleware]. A touch is taken of a
// navigation: a GET whose Sec-Fetch-Dest is document, or that has no such header and accepts text/html. Referrers on the hosts of
// Config.PublicURL and Config.Hosts, and the one that a trusted proxy names, are the application's own. KeepTouch sets no cookie itself. If store panics, the request goes on without a touch.
func (t *Tracker) KeepTouch(store TouchStore, o TouchOptions) func(http.Handler) http.Handler {
	o.Window = cmp.Or(o.Window, 30*24*time.Hour)
	return func(next http.Handler) http.Handler {
		if t.inactive() || store == nil {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			touch := t.keptTouch(store, &o, w, r)
			if touch.IsZero() {
				next.ServeHTTP(w, r)
				return
			}
			inner := r.WithContext(WithTouch(r.Context(), touch))
			defer handBack(r, inner)
			next.ServeHTTP(w, inner)
		})
	}
}

// keptTouch returns the touch of the visitor, and keeps it if it is a new one.
func (t *Tracker) keptTouch(store TouchStore, o *TouchOptions, w http.ResponseWriter, r *http.Request) (touch Touch) {
	defer func() {
		if v := recover(); v != nil {
			t.reporter.invalid("", fmt.Errorf("footfall: panic in the TouchStore of KeepTouch: %v", v))
		}
	}()
	touch = ParseTouch(store.Touch(r))
	if time.Since(touch.Time()) > o.Window {
		touch = Touch{}
	}
	if !isNavigation(r) {
		return touch
	}
	if later := touchOf(r, func(host string) bool { return t.pager.owns(r, host) }); o.replaces(touch, later) {
		touch = later
		store.SetTouch(w, r, touch.String())
	}
	return touch
}

// replaces reports whether a later touch counts rather than the one that is kept.
func (o *TouchOptions) replaces(kept, later Touch) bool {
	switch {
	case kept.IsZero():
		return true
	case later.IsDirect():
		return false
	}
	return kept.IsDirect() || !o.First
}

// isNavigation reports whether a browser asks for a page that it will show.
func isNavigation(r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" {
		return false
	}
	if to := r.Header.Get("Sec-Fetch-Dest"); to != "" {
		return to == "document"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
