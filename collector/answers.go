package collector

import (
	"net/http"
	"strings"
	"time"
)

// watch returns a writer that notes the status of an answer of the API or to browsers, and a function
// that passes it to Config.OnAnswer.
func (c *Collector) watch(w http.ResponseWriter, r *http.Request) (_ http.ResponseWriter, end func()) {
	endpoint := endpointOf(r.URL.Path)
	if c.cfg.OnAnswer == nil || endpoint == "" {
		return w, func() {}
	}
	began, noted := time.Now(), &statusWriter{ResponseWriter: w}
	return noted, func() {
		if noted.status != 0 { // otherwise the connection was closed without an answer
			c.cfg.OnAnswer(endpoint, noted.status, time.Since(began))
		}
	}
}

// endpointOf returns the endpoint of a path, or "" for other paths.
func endpointOf(path string) string {
	switch {
	case path == "/v1/events":
		return "events"
	case path == "/v1/sites" || strings.HasPrefix(path, "/v1/sites/"):
		return "sites"
	case path == "/e":
		return "browser"
	}
	return ""
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap implements the interface that http.ResponseController looks for.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
