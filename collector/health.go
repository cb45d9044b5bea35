package collector

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/footfall-dev/footfall/collector/store"
)

// kindHealth is the kind of the record that a health check writes.
const kindHealth = "health"

// Health is public, so a check is made at most once in checkEvery, and may take checkTimeout.
const (
	checkEvery   = time.Second
	checkTimeout = 2 * time.Second
)

// health shares one check, and its result, among all requests.
type health struct {
	checks singleflight.Group
	last   atomic.Pointer[checked]
}

// checked is the result of a check.
type checked struct {
	at  time.Time
	err error
}

// check reports whether the store takes a write, as an event needs it. It commits a record.
func (h *health) check(ctx context.Context, st store.Store) error {
	_, err, _ := h.checks.Do("", func() (any, error) {
		now := time.Now()
		if last := h.last.Load(); last != nil && now.Sub(last.at) < checkEvery && !now.Before(last.at) {
			return nil, last.err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
		defer cancel()
		err := st.Put(ctx, kindHealth, store.Record{ID: "last", Data: []byte(now.UTC().Format(time.RFC3339))})
		h.last.Store(&checked{time.Now(), err})
		return nil, err
	})
	return err
}

// serveHealth reports whether events can be stored and whether the store has met damage. The endpoint is public and reveals nothing
// about sites; ignored counts events of bots and prefetching browsers since the start.
func (c *Collector) serveHealth(w http.ResponseWriter, r *http.Request) *failure {
	if !allows(http.MethodGet, r.Method) {
		return wrongMethod(http.MethodGet)
	}
	if inspected, ok := c.store.(store.Inspector); ok {
		if err := inspected.Damage(); err != nil {
			c.trouble("the store is damaged: restore a backup", err)
			return unavailable("the store is damaged; the log says which file")
		}
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
