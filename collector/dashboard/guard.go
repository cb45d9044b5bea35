package dashboard

import (
	"net/http"
	"net/url"
)

// policy allows only what the pages need: no inline scripts or styles, and nothing from other
// origins.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm is the largest form, in bytes. A funnel of eight steps with the longest pages and
// props has about 34 KB, or three times as much when all of it is escaped.
const maxForm = 128 << 10

// guarded wraps all pages with security headers, an origin check and a size limit.
func (b *board) guarded(pages http.Handler) http.Handler {
	same := http.NewCrossOriginProtection()
	if u, err := url.Parse(b.PublicURL); err == nil && u.Host != "" {
		_ = same.AddTrustedOrigin(u.Scheme + "://" + u.Host) // fails only if it is not an origin
	}
	same.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.showError(w, r, http.StatusForbidden)
	}))
	inner := same.Handler(http.MaxBytesHandler(pages, maxForm))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		// Not no-referrer: with it browsers send "Origin: null" with forms, which looks like
		// another origin if they send no Sec-Fetch-Site (plain HTTP).
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store") // figures and secrets; assets override it
		inner.ServeHTTP(w, r)
	})
}
