package collector

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// full is a store that is read, and takes no writes while full is set. It counts its writes.
type full struct {
	store.Store
	full   *atomic.Bool
	writes *atomic.Int64
}

func (f full) Put(ctx context.Context, kind string, r store.Record) error {
	f.writes.Add(1)
	if f.full.Load() {
		return errors.New("disk full")
	}
	return f.Store.Put(ctx, kind, r)
}

func TestHealthSaysWhetherTheStoreTakesEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var isFull atomic.Bool
		var writes atomic.Int64
		s := prepare(t, Config{Store: full{storetest.NewReference(), &isFull, &writes}})
		get := func(path string) (int, string) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w.Code, w.Body.String()
		}
		before := writes.Load()
		for range 100 {
			status, body := get("/healthz")
			assert.Equal(t, 200, status)
			assert.Equal(t, `{"status":"ok","ignored":0}`, body)
		}
		assert.EqualValues(t, 1, writes.Load()-before, "a check a second")
		isFull.Store(true)
		time.Sleep(checkEvery)
		status, body := get("/healthz")
		assert.Equal(t, 503, status)
		assert.Equal(t, `{"error":"unavailable","message":"the store takes no events","status":503}`, body)
		status, body = get("/livez")
		assert.Equal(t, 200, status, "the process lives")
		assert.Equal(t, `{"status":"ok"}`, body)
		isFull.Store(false)
		time.Sleep(checkEvery)
		status, _ = get("/healthz")
		assert.Equal(t, 200, status)
	})
}

// slow is a store in which the write of a health check takes a second.
type slow struct{ full }

func (s slow) Put(ctx context.Context, kind string, r store.Record) error {
	if kind == kindHealth {
		time.Sleep(time.Second)
	}
	return s.full.Put(ctx, kind, r)
}

func TestHealthChecksAtOnceShareOneWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var writes atomic.Int64
		s := prepare(t, Config{Store: slow{full{storetest.NewReference(), new(atomic.Bool), &writes}}})
		before, began := writes.Load(), time.Now()
		var checks sync.WaitGroup
		for range 100 {
			checks.Go(func() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
				assert.Equal(t, 200, w.Code)
			})
		}
		checks.Wait()
		assert.EqualValues(t, 1, writes.Load()-before)
		assert.Equal(t, time.Second, time.Since(began), "none waits for a check before its own")
	})
}

// nearlyFull is a store on a disk that is nearly full: what is small still fits.
type nearlyFull struct {
	store.Store
	room *atomic.Int64 // bytes
}

func (n nearlyFull) fits(size int) error {
	if int64(size) > n.room.Load() {
		return errors.New("disk full")
	}
	return nil
}

func (n nearlyFull) Put(ctx context.Context, kind string, r store.Record) error {
	if err := n.fits(len(r.Data)); err != nil {
		return err
	}
	return n.Store.Put(ctx, kind, r)
}

func (n nearlyFull) Add(ctx context.Context, e store.Event) (bool, error) {
	if err := n.fits(len(e.URL)); err != nil {
		return false, err
	}
	return n.Store.Add(ctx, e)
}

func TestHealthIsBadWhileEventsCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var room atomic.Int64
		room.Store(1 << 20)
		s := prepare(t, Config{Store: nearlyFull{storetest.NewReference(), &room}})
		health := func() int {
			time.Sleep(checkEvery)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
			return w.Code
		}
		send := func() int { return s.post(t.Context(), s.event("x", pageURL, "{}")).Code }
		room.Store(int64(len(pageURL)) - 1)
		for range 3 {
			assert.Equal(t, 503, send())
			assert.Equal(t, 503, health())
		}
		for range 3 {
			assert.Equal(t, 503, health(), "without events, too: a record of a health check fits, but no event does")
		}
		room.Store(store.MaxBody)
		assert.Equal(t, 200, health())
		assert.Equal(t, 202, send())
		room.Store(int64(len(pageURL)))
		assert.Equal(t, 200, health(), "the record of a check is small if no event has failed")
	})
}

func TestHealthIsBadWhileOnlySomeEventsAreStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var room atomic.Int64
		room.Store(1 << 20)
		s := prepare(t, Config{Store: nearlyFull{storetest.NewReference(), &room}})
		room.Store(store.MaxBody)
		assert.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		room.Store(int64(len(pageURL)))
		assert.Equal(t, 503, s.post(t.Context(), s.event("x", pageURL+"/long", "{}")).Code)
		assert.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
		assert.Equal(t, 503, w.Code)
		assert.Equal(t, `{"error":"unavailable","message":"an event could not be stored since the last check","status":503}`, w.Body.String())
	})
}

// bounded is a store that refuses some events.
type bounded struct {
	store.Store
	refuses *atomic.Bool
}

func (b bounded) Full() error {
	if b.refuses.Load() {
		return errors.New("no room for new texts")
	}
	return nil
}

func TestHealthIsBadWhileTheStoreRefusesSomeEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var refuses atomic.Bool
		s := prepare(t, Config{Store: bounded{storetest.NewReference(), &refuses}})
		health := func() (int, string) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
			return w.Code, w.Body.String()
		}
		refuses.Store(true)
		for range 3 {
			assert.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
			status, body := health()
			assert.Equal(t, 503, status)
			assert.Equal(t, `{"error":"unavailable","message":"the store takes only some events; the log says why","status":503}`, body)
			time.Sleep(checkEvery)
		}
		refuses.Store(false)
		status, _ := health()
		assert.Equal(t, 200, status)
	})
}
