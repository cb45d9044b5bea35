package collector

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

// Starting returns a handler for the time until the Store is open, which may take minutes if its file is
// upgraded. Events get a 503 with Retry-After, and so does /healthz; /livez is answered with 200, because
// the process must not be killed. Pages have the text of how, such as "step 2 of 4", and reload themselves.
func Starting(how func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var f *failure
		switch path := r.URL.Path; {
		case path == "/livez":
			f = serveLife(w, r)
		case path == "/t.js":
			f = serveScript(w, r)
		case path == "/openapi.yaml":
			f = serveDescription(w, r)
		case path == "/healthz", path == "/e", path == "/v1", strings.HasPrefix(path, "/v1/"):
			f = unavailable("the service is starting: " + how())
		default:
			writeStarting(w, how())
		}
		if f != nil {
			f.write(w)
		}
	})
}

const startingPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="2">
<title>Starting · Footfall</title>
</head>
<body>
<h1>The service is starting</h1>
<p>%s. This page reloads itself.</p>
</body>
</html>
`

func writeStarting(w http.ResponseWriter, how string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "2")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(w, startingPage, html.EscapeString(how)) // fails if the client is gone
}
