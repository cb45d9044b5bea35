package collector

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// kindHealth is the kind of the record that a health check writes.
const kindHealth = "health"

// Health is public, so a check is made at most once in checkEvery, and may take checkTimeout.
const (
	checkEvery   = time.Second
	checkTimeout = 2 * time.Second
)

// health holds the result of the last check.
type health struct {
	mu   sync.Mutex
	last time.Time
	err  error
}

// check reports whether the store takes a write, as an event needs it. It commits a record.
func (h *health) check(ctx context.Context, st store.Store) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if !h.last.IsZero() && now.Sub(h.last) < checkEvery && !now.Before(h.last) {
		return h.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	h.err = st.Put(ctx, kindHealth, store.Record{ID: "last", Data: []byte(now.UTC().Format(time.RFC3339))})
	h.last = time.Now()
	return h.err
}

// serveHealth reports whether events can be stored. The endpoint is public and reveals nothing
// about sites; ignored counts events of bots and prefetching browsers since the start.
func (c *Collector) serveHealth(w http.ResponseWriter, r *http.Request) *failure {
	if !allows(http.MethodGet, r.Method) {
		return wrongMethod(http.MethodGet)
	}
	if err := c.health.check(r.Context(), c.store); err != nil {
		c.trouble("the store takes no events", err)
		return unavailable("the store takes no events")
	}
	writeJSON(w, http.StatusOK, fmt.Appendf(nil, `{"status":"ok","ignored":%d}`, c.ignored.Load()))
	return nil
}

// serveLife reports that the process serves requests, whatever the state of the store.
func serveLife(w http.ResponseWriter, r *http.Request) *failure {
	if !allows(http.MethodGet, r.Method) {
		return wrongMethod(http.MethodGet)
	}
	writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}
