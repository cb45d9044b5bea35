package footfalltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
)

// Key is the API key that an API accepts, unless SetKey has changed it.
const Key = "test-key"

// maxBody bounds the body that an API reads.
const maxBody = 1 << 20

// API is a stand-in for the Site Analytics API on a loopback socket. It has one site,
// SiteID. It answers as the contract says unless Next or Always set another answer. It
// keeps all requests in memory, so it is not for programs that run for days. Its methods
// may be called from several goroutines.
type API struct {
	URL string // to use as Config.BaseURL

	server *httptest.Server
	ending chan struct{} // closed by Close; ends hanging answers

	mu       sync.Mutex
	key      string
	next     []Answer
	always   Answer
	requests []Request
	accepted []Event
	counted  map[string]bool // Idempotency-Keys accepted
	conns    int
	onEvent  func(Event)
	site     map[string]any
}

// Request is one POST /v1/events that an API received, with any answer.
type Request struct {
	Time   time.Time
	ID     string // Idempotency-Key
	Header http.Header
	Body   []byte
}

// NewAPI starts an API that stops when the test ends.
func NewAPI(tb testing.TB) *API {
	tb.Helper()
	api := StartAPI()
	tb.Cleanup(api.Close)
	return api
}

// StartAPI starts an API outside of tests, such as for a demonstration. Call
// Close when it is no longer needed. It panics if loopback has no free port.
func StartAPI() *API {
	a := &API{
		ending:  make(chan struct{}),
		key:     Key,
		counted: make(map[string]bool),
		site: map[string]any{
			"id": SiteID, "domain": "example.com",
			"created_at": "2026-01-01T00:00:00Z", "tracking_active": true,
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sites", a.sites)
	mux.HandleFunc("GET /v1/sites/{id}", a.oneSite)
	mux.HandleFunc("POST /v1/events", a.events)
	a.server = httptest.NewUnstartedServer(mux)
	a.server.Config.ConnState = a.countConn
	a.server.Start()
	a.URL = a.server.URL
	return a
}

// Close stops the API. Answers that hang end.
func (a *API) Close() {
	select {
	case <-a.ending:
		return
	default:
		close(a.ending)
	}
	a.server.CloseClientConnections()
	a.server.Close()
}

// Config returns a Config for a tracker of this API, with a FlushInterval of 10 ms, a
// ShutdownTimeout of two seconds, so that a test does not wait long for an open stream, and
// https://example.com/ as DefaultURL. Empty DefaultURL to find events without a page.
func (a *API) Config() footfall.Config {
	return footfall.Config{
		BaseURL: a.URL, APIKey: Key, SiteID: SiteID,
		DefaultURL:      "https://example.com/",
		FlushInterval:   10 * time.Millisecond,
		ShutdownTimeout: 2 * time.Second,
	}
}

// Next makes the API give these answers to the next events it receives, one each.
// After that it answers as before.
func (a *API) Next(answers ...Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = append(a.next, answers...)
}

// Always makes the API give this answer to every event; nil ends it.
func (a *API) Always(answer Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always = answer
}

// SetKey changes the key that the API accepts; others are answered with 401.
func (a *API) SetKey(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.key = key
}

// OnEvent calls f for each event accepted, after it is counted, before it is
// answered.
func (a *API) OnEvent(f func(Event)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onEvent = f
}

// Events returns the events that the API accepted, each Idempotency-Key once, in
// order of arrival.
func (a *API) Events() []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Event(nil), a.accepted...)
}

// Requests returns every POST /v1/events received, in order of arrival.
func (a *API) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Request(nil), a.requests...)
}

// Connections returns the number of connections made to the API so far.
func (a *API) Connections() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conns
}

func (a *API) countConn(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		a.mu.Lock()
		a.conns++
		a.mu.Unlock()
	}
}

func (a *API) sites(w http.ResponseWriter, r *http.Request) {
	if a.authorized(w, r) {
		writeJSON(w, http.StatusOK, map[string]any{"data": []any{a.site}, "meta": map[string]any{"total": 1}})
	}
}

func (a *API) oneSite(w http.ResponseWriter, r *http.Request) {
	switch {
	case !a.authorized(w, r):
	case r.PathValue("id") != SiteID:
		writeError(w, http.StatusNotFound, "not_found", fmt.Sprintf("no site %q", r.PathValue("id")))
	default:
		writeJSON(w, http.StatusOK, map[string]any{"data": a.site})
	}
}

func (a *API) authorized(w http.ResponseWriter, r *http.Request) bool {
	a.mu.Lock()
	key := a.key
	a.mu.Unlock()
	if r.Header.Get("Authorization") == "Bearer "+key {
		return true
	}
	w.Header().Set("WWW-Authenticate", "Bearer") // RFC 9110, section 11.6.1
	writeError(w, http.StatusUnauthorized, "unauthorized", "the key is not valid")
	return false
}

func (a *API) events(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client disconnected
	}
	e, err := parseEvent(r.Header.Get("Idempotency-Key"), body)
	answer := a.received(Request{Time: time.Now(), ID: e.ID, Header: r.Header, Body: body})
	switch {
	case answer != nil:
		answer(a, w, r, e)
	case !a.authorized(w, r):
	case err != nil:
		writeError(w, http.StatusBadRequest, "validation_failed", "the body is not an event")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		writeError(w, http.StatusUnsupportedMediaType, "unsupported_media_type", "send application/json")
	case e.SiteID != SiteID:
		writeError(w, http.StatusNotFound, "not_found", fmt.Sprintf("no site %q", e.SiteID))
	case e.Name == "" || e.URL == "":
		writeError(w, http.StatusUnprocessableEntity, "validation_failed", "name and url are required")
	default:
		a.accept(w, e)
	}
}

// received keeps the request and returns the answer of Next or Always, if any.
func (a *API) received(r Request) Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r)
	if len(a.next) > 0 {
		answer := a.next[0]
		a.next = a.next[1:]
		return answer
	}
	return a.always
}

func (a *API) accept(w http.ResponseWriter, e Event) {
	a.count(e)
	writeJSON(w, http.StatusAccepted, map[string]any{"accepted": true})
}

// count keeps the event, unless its Idempotency-Key was counted before.
func (a *API) count(e Event) {
	a.mu.Lock()
	onEvent := a.onEvent
	repeated := e.ID != "" && a.counted[e.ID]
	if !repeated {
		a.counted[e.ID] = true
		a.accepted = append(a.accepted, e)
	}
	a.mu.Unlock()
	if onEvent != nil && !repeated {
		onEvent(e)
	}
}

// hang returns when the client disconnects or the API closes.
func (a *API) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-a.ending:
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": code, "message": message, "status": status})
}
