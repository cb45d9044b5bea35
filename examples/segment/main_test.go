package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// service is a fake of the HTTP Tracking API: Basic authentication with the write key and no password, 200 with
// {"success":true}, 400 with a message for what is no JSON or too large.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	next  []int // statuses to answer in place of 200
	calls []call
	seen  map[string]bool // messageIds
}

func newService(t *testing.T) *service {
	s := &service{seen: make(map[string]bool)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, password, ok := r.BasicAuth()
	body, _ := io.ReadAll(r.Body)
	status, message := http.StatusOK, ""
	var c call
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/track":
		status = http.StatusNotFound
	case !ok || key != "write_key" || password != "":
		status = http.StatusUnauthorized
	case len(s.next) > 0:
		status, s.next = s.next[0], s.next[1:]
	case len(body) > 32<<10:
		status, message = http.StatusBadRequest, "Exceed payload limit"
	case json.Unmarshal(body, &c) != nil:
		status, message = http.StatusBadRequest, "malformed JSON"
	case c.AnonymousID != "" && c.Event != "" && len(c.MessageID) < 100 && !s.seen[c.MessageID]: // others get 200, too
		s.seen[c.MessageID] = true
		s.calls = append(s.calls, c)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": status == http.StatusOK, "message": message})
}

func start(t *testing.T, s *service, change ...func(*footfall.Config)) *footfall.Tracker {
	cfg := footfall.Config{
		APIKey: "write_key", BaseURL: s.URL, AllowHTTP: true, SiteID: "site_shop", DefaultURL: "https://shop.example.com/cart",
		BackoffMin: time.Millisecond, OnRejected: func(*footfall.RejectedError) {}, Logger: new(footfalltest.Log).Logger(),
	}
	for _, c := range change {
		c(&cfg)
	}
	transport, err := newTransport(cfg)
	require.NoError(t, err)
	cfg.Transport = transport
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tracker.Close(context.Background()) })
	return tracker
}

func TestAnEventIsATrackCall(t *testing.T) {
	s := newService(t)
	tracker := start(t, s)
	long := strings.Repeat("x", 200)
	for _, id := range []string{"order-4711", "order-4711", long} {
		require.NoError(t, tracker.TrackEvent(t.Context(), footfall.Event{
			Name: "order_paid", ID: id, Props: []footfall.Prop{footfall.P("amount", 4999)},
		}))
	}
	require.NoError(t, tracker.Flush(t.Context()))
	require.Len(t, s.calls, 2, "one ID is one event")
	got := s.calls[0]
	assert.Equal(t, "order_paid", got.Event)
	assert.Equal(t, "site_shop", got.AnonymousID)
	assert.Equal(t, "order-4711", got.MessageID)
	assert.Equal(t, "https://shop.example.com/cart", got.Context.Page.URL)
	assert.JSONEq(t, `{"amount":4999}`, string(got.Properties))
	assert.Equal(t, uint64(3), tracker.Stats().Delivered)
}

func TestEventsAreSentAgainUntilTheServiceAcceptsThem(t *testing.T) {
	s := newService(t)
	s.next = []int{503, 429, 401, 502}
	tracker := start(t, s)
	require.NoError(t, tracker.Track(t.Context(), "order_paid"))
	require.NoError(t, tracker.Flush(t.Context()))
	assert.Len(t, s.calls, 1)
	assert.Equal(t, footfall.Stats{Tracked: 1, Delivered: 1}, tracker.Stats())
}

func TestA400OfTheServiceIsFinal(t *testing.T) {
	s := newService(t)
	var rejected []*footfall.RejectedError
	tracker := start(t, s, func(c *footfall.Config) {
		c.MaxEventBytes, c.Limits = 64<<10, footfall.Limits{PropText: 40 << 10}
		c.OnRejected = func(err *footfall.RejectedError) { rejected = append(rejected, err) }
	})
	require.NoError(t, tracker.Track(t.Context(), "order_paid", footfall.P("note", strings.Repeat("x", 33<<10))))
	require.NoError(t, tracker.Flush(t.Context()))
	require.Len(t, rejected, 1)
	assert.Contains(t, rejected[0].Error(), "Exceed payload limit")
	assert.Equal(t, footfall.Stats{Tracked: 1, Rejected: 1}, tracker.Stats())
}
