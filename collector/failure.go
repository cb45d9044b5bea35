package collector

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/footfall-dev/footfall/collector/internal/event"
)

// failure is an error answer, in the shape that the contract (section Errors) shows for
// a missing site.
type failure struct {
	status     int
	code       string
	message    string
	allow      string // methods, of a 405
	retryAfter int    // seconds; 0 for none
	hangUp     bool   // close the connection: the rest of the request is not worth reading
}

// errorBody is the error body of the API, which docs/delivery.md describes.
type errorBody struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// Headers that never change, shared by all answers.
var (
	jsonType     = []string{"application/json"}
	noSniff      = []string{"nosniff"}
	noStore      = []string{"no-store"}
	bearer       = []string{`Bearer realm="footfall"`}
	variesOrigin = []string{"Origin"}
)

func (f *failure) write(w http.ResponseWriter) {
	h := w.Header()
	if f.status == http.StatusUnauthorized {
		h["Www-Authenticate"] = bearer
	}
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(f.retryAfter))
	}
	if f.hangUp {
		h.Set("Connection", "close")
	}
	body, _ := json.Marshal(errorBody{f.code, f.message, f.status}) // cannot fail
	writeJSON(w, f.status, body)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	h["Cache-Control"] = noStore
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails if the client is gone
}

func invalid(field, reason string) *failure {
	return &failure{status: http.StatusBadRequest, code: "validation_failed", message: field + ": " + reason}
}

func notFound(message string) *failure {
	return &failure{status: http.StatusNotFound, code: "not_found", message: message}
}

func noSuchSite(what, id string) *failure {
	return notFound("there is no site with the " + what + " " + event.Quote(id))
}

func tooLarge(limit int) *failure {
	return &failure{
		status:  http.StatusRequestEntityTooLarge,
		code:    "payload_too_large",
		message: fmt.Sprintf("body: larger than %d bytes", limit),
		hangUp:  true,
	}
}

func unsupported(message string) *failure {
	return &failure{status: http.StatusUnsupportedMediaType, code: "unsupported_media_type", message: message}
}

func wrongMethod(allow string) *failure {
	return &failure{status: http.StatusMethodNotAllowed, code: "method_not_allowed", message: "this path accepts " + allow, allow: allow}
}

func rateLimited(message string, retryAfter int) *failure {
	return &failure{status: http.StatusTooManyRequests, code: "rate_limited", message: message, retryAfter: retryAfter}
}

func unavailable(message string) *failure {
	return &failure{status: http.StatusServiceUnavailable, code: "unavailable", message: message, retryAfter: 1}
}
