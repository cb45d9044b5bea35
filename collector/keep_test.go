package collector

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// adding is a store with a replaceable Add.
type adding struct {
	store.Store
	add func(ctx context.Context, e store.Event) (added bool, err error)
}

func (a adding) Add(ctx context.Context, e store.Event) (added bool, err error) { return a.add(ctx, e) }

// post passes an event to the handler and returns the recorder.
func (s *service) post(ctx context.Context, body string) *httptest.ResponseRecorder {
	return s.record(s.request(body).WithContext(ctx))
}

// request returns a request that posts an event.
func (s *service) request(body string) *http.Request {
	r := httptest.NewRequest("POST", "/v1/events", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (s *service) record(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// waitingForCommit returns a service whose store has an event that is committed, and answered, when
// the test closes commit. It is for a bubble.
func waitingForCommit(t *testing.T) (s *service, commit chan struct{}, answered chan int) {
	t.Helper()
	commit, answered = make(chan struct{}), make(chan int, 1)
	s = prepare(t, Config{Store: adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) {
		<-commit
		return true, nil
	}}})
	go func() { answered <- s.post(t.Context(), s.event("x", pageURL, "{}")).Code }()
	synctest.Wait()
	return s, commit, answered
}

func TestAcceptedMeansCommitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, commit, answered := waitingForCommit(t)
		select {
		case code := <-answered:
			t.Fatalf("answered %d before the commit", code)
		default:
		}
		close(commit)
		assert.Equal(t, 202, <-answered)
	})
}

func TestRepeatedEventCountsOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	for range 3 {
		got := s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"), "Idempotency-Key", "order-1")
		assert.Equal(t, 202, got.status)
		assert.Equal(t, `{"accepted":true}`, got.body)
	}
	s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"), "Idempotency-Key", strings.Repeat("k", 255))
	assert.Len(t, s.stored(t), 2)
}

const cannotStore = `{"error":"unavailable","message":"the event could not be stored","status":503}`

func TestStoreThatFailsIsAnswered503(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	s := prepare(t, Config{
		Store:  adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) { return false, errors.New("disk is full") }},
		Logger: slog.New(slog.NewTextHandler(&lines, nil)),
	})
	for range 5 {
		w := s.post(t.Context(), s.event("secret_name", pageURL, "{}"))
		assert.Equal(t, 503, w.Code)
		assert.Equal(t, cannotStore, w.Body.String())
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
	}
	assert.Equal(t, 1, strings.Count(lines.String(), "\n"), "one line is enough: %s", lines.String())
	assert.Contains(t, lines.String(), "disk is full")
	assert.NotContains(t, lines.String(), "secret_name")
}

func TestAServiceStartsAlthoughItsDiskIsFull(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	before := prepare(t, Config{Store: st})
	require.Equal(t, 202, before.post(t.Context(), before.event("x", pageURL, "{}")).Code)
	require.NoError(t, st.Remove(t.Context(), kindSalt, dayOf(time.Now()).Format(time.DateOnly))) // another day has begun
	var log bytes.Buffer
	c, err := New(t.Context(), Config{Store: unwritable{st}, Logger: textLogger(&log)})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	s := &service{Collector: c, key: before.key, site: before.site}
	assert.Equal(t, 503, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
	for path, want := range map[string]int{"/livez": 200, "/healthz": 503, "/login": 200} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		assert.Equal(t, want, w.Code, path)
	}
	assert.Contains(t, log.String(), "no event can be stored")
}

// unwritable is a store on a disk without space.
type unwritable struct{ store.Store }

func (unwritable) Put(context.Context, string, store.Record) error { return store.ErrFull }
func (unwritable) Add(context.Context, store.Event) (bool, error)  { return false, store.ErrFull }

func TestCommitThatTakesTooLongIsAnswered503(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, Config{Store: adding{storetest.NewReference(), func(ctx context.Context, _ store.Event) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		}}})
		began := time.Now()
		assert.Equal(t, cannotStore, s.post(t.Context(), s.event("x", pageURL, "{}")).Body.String())
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestEventsBeyondMaxPendingAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		commit := make(chan struct{})
		s := prepare(t, Config{MaxPending: 2, Store: adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) {
			<-commit
			return true, nil
		}}})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { assert.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code) })
		}
		synctest.Wait()
		w := s.post(t.Context(), s.event("x", pageURL, "{}"))
		assert.Equal(t, `{"error":"unavailable","message":"too many events are waiting to be stored","status":503}`, w.Body.String())
		close(commit)
		wg.Wait()
		assert.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
	})
}

func TestEventIsStoredAlthoughTheClientDisconnected(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, 202, s.post(ctx, s.event("x", pageURL, "{}")).Code)
	assert.Len(t, s.stored(t), 1)
}

func TestPanicIsAnsweredInTheErrorShape(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	s := prepare(t, Config{
		Store:  adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) { panic("out of order") }},
		Logger: slog.New(slog.NewTextHandler(&lines, nil)),
	})
	w := s.post(t.Context(), s.event("x", pageURL, "{}"))
	assert.Equal(t, 500, w.Code)
	assert.Equal(t, `{"error":"internal","message":"the service failed; its log says why","status":500}`, w.Body.String())
	assert.Contains(t, lines.String(), "out of order")
	assert.Zero(t, s.pending.Load())
}

func TestStoredEventsArePublishedToLiveViews(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	events, stop := s.live.Watch(s.site.ID)
	defer stop()
	s.post(t.Context(), s.event("refused", "nowhere", "{}"))
	s.post(t.Context(), s.event("signup", pageURL, "{}"))
	assert.Equal(t, "signup", (<-events).Name)
	assert.Empty(t, events)
}

func TestCloseWaitsForRequestsUnderWayAndRefusesOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, commit, answered := waitingForCommit(t)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, s.Close(short), context.DeadlineExceeded)
		w := s.post(t.Context(), s.event("x", pageURL, "{}"))
		assert.Equal(t, `{"error":"unavailable","message":"the service is closing","status":503}`, w.Body.String())

		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		synctest.Wait()
		assert.Empty(t, closed)
		close(commit)
		assert.Equal(t, 202, <-answered)
		assert.NoError(t, <-closed)
	}) // fails if a goroutine is left
}

func TestOtherPathsBelongToTheDashboard(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	s.dashboard = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	for _, path := range []string{"/", "/login", "/v1x", "/e/", "/t.js/", "/sites/v1/"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		assert.Equal(t, path, w.Body.String())
	}
}

func TestPanicOfAPageDoesNotLogTheAddress(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	s := prepare(t, Config{Logger: textLogger(&lines)})
	s.dashboard = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			_, _ = io.WriteString(w, "half")
		}
		panic("out of order")
	})
	stop := s.listen(t)
	assert.Equal(t, 500, s.do(t, "GET", "/page", "").status)
	response, err := http.Get(s.url + "/begun")
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	require.Error(t, err, "what was cut off must not look whole")
	require.NoError(t, stop())
	assert.GreaterOrEqual(t, strings.Count(lines.String(), "out of order"), 2) // the client may retry
	assert.NotContains(t, lines.String(), "127.0.0.1")
}

func TestIdempotencyWindowDecidesWhetherAKeyAfter30HoursCountsTwice(t *testing.T) {
	t.Parallel()
	for window, want := range map[time.Duration]int{24 * time.Hour: 2, 72 * time.Hour: 1} {
		t.Run(window.String(), func(t *testing.T) {
			t.Parallel()
			var later atomic.Int64
			st, err := sqlite.Open(t.Context(), sqlite.Config{
				File: filepath.Join(t.TempDir(), "footfall.db"), IdempotencyWindow: window,
				Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, st.Close()) })
			s := serve(t, Config{Store: st})
			for range 2 {
				got := s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"), "Idempotency-Key", "order-1")
				assert.Equal(t, 202, got.status)
				later.Store(int64(30 * time.Hour))
			}
			assert.Len(t, s.stored(t), want)
		})
	}
}

func TestRepeatedEventIsShownOnceInLiveViews(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	events, stop := s.live.Watch(s.site.ID)
	defer stop()
	send := func(key string) {
		r := s.request(s.event("order", pageURL, "{}"))
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		require.Equal(t, 202, s.record(r).Code)
	}
	for _, key := range []string{"a", "a", "b", "a", "", ""} {
		send(key)
	}
	assert.Len(t, events, 4, "a and b once, those without a key always")
	assert.Len(t, s.stored(t), 4)
}
