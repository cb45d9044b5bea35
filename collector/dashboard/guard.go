package dashboard

import (
	"net/http"
	"net/url"
)

// policy allows what the pages need and nothing else: no script, style or address of
// a page's own text, and nothing of another origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm is the largest form taken. A funnel of eight steps, each with a page and a
// prop as long as they may be, is about 34 KB, three times that when it is all escaped.
const maxForm = 128 << 10

// guarded puts around all pages what each of them needs to be safe.
func (b *board) guarded(pages http.Handler) http.Handler {
	same := http.NewCrossOriginProtection()
	if u, err := url.Parse(b.PublicURL); err == nil && u.Host != "" {
		_ = same.AddTrustedOrigin(u.Scheme + "://" + u.Host) // refused only if it is no origin
	}
	same.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.showError(w, r, http.StatusForbidden)
	}))
	inner := same.Handler(http.MaxBytesHandler(pages, maxForm))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		// Not no-referrer: browsers then send "Origin: null" with forms, which looks
		// like another origin where they send no Sec-Fetch-Site (plain HTTP).
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store") // figures and secrets; assets say otherwise
		inner.ServeHTTP(w, r)
	})
}
