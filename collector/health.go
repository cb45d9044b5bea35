package collector

import (
	"context"
	"crypto/rand"
	"errors"
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
	failed atomic.Bool // an event could not be stored since the last check
	checks singleflight.Group
	last   atomic.Pointer[checked]
	doubt  bool // the last check failed; of the check that runs
}

// checked is the result of a check.
type checked struct {
	at  time.Time
	err error
}

// errNotStored is the result of a check after events that could not be stored.
var errNotStored = errors.New("an event could not be stored since the last check")

// check reports whether the store takes events.
func (h *health) check(ctx context.Context, st store.Store) error {
	_, err, _ := h.checks.Do("", func() (any, error) {
		now := time.Now()
		if last := h.last.Load(); last != nil && now.Sub(last.at) < checkEvery && !now.Before(last.at) {
			return nil, last.err
		}
		err := h.try(context.WithoutCancel(ctx), st, now)
		h.doubt = err != nil
		h.last.Store(&checked{time.Now(), err})
		return nil, err
	})
	return err
}

// try commits a record, unless an event could not be stored since the last check. On a full disk a small
// record may fit although no event does, so after an error the record is as large as an event may be.
func (h *health) try(ctx context.Context, st store.Store, now time.Time) error {
	if h.failed.Swap(false) {
		return errNotStored
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	record := store.Record{ID: "last", Data: []byte(now.UTC().Format(time.RFC3339))}
	if h.doubt {
		record.Data = make([]byte, store.MaxBody)
		_, _ = rand.Read(record.Data) // never fails; a file system may compress what is not random
	}
	return st.Put(ctx, kindHealth, record)
}

// serveHealth reports whether all events can be stored and whether the store has met damage. The endpoint is public and reveals
// nothing about sites; ignored counts events of bots and prefetching browsers since the start.
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
	if bounded, ok := c.store.(store.Bounded); ok {
		if err := bounded.Full(); err != nil {
			c.trouble("the store takes only some events", err)
			return unavailable("the store takes only some events; the log says why")
		}
	}
	if err := c.health.check(r.Context(), c.store); err == errNotStored {
		return unavailable(err.Error())
	} else if err != nil {
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
