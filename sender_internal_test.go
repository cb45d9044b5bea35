package footfall

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/senders"
	"github.com/footfall-dev/footfall/internal/wire"
)

func TestAnEventThatFailsTwiceWhileOthersAreAcceptedIsASuspect(t *testing.T) {
	for name, row := range map[string]struct {
		change func(p *picking, w *worker)
		want   bool
	}{
		"others are accepted":     {func(*picking, *worker) {}, true},
		"no other since":          {func(_ *picking, w *worker) { w.one[0].attempts.Last = time.Now() }, false},
		"the tracker closes":      {func(_ *picking, w *worker) { w.closing = true }, false},
		"the API fails at random": {func(p *picking, _ *worker) { acceptRetries(p, 64) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inPicking(t, func(t *testing.T, p *picking) {
				r, kind := named("x")
				w := &worker{one: [1]Record{r}, admission: retry.Admission{Began: time.Now()}}
				w.one[0].attempts = retry.Attempts{Failures: 1, Strikes: 1, Last: time.Now()}
				p.scopes.Fail(kind, w.admission, &retry.Failure{First: true}, time.Now())
				time.Sleep(time.Millisecond)
				p.scopes.Accept(kind, w.admission, time.Now())
				row.change(p, w)
				p.pool.BeginAttempt(&w.sender, false, false, time.Now())
				p.fail(p.src, w, &ending{verdict: wire.Later, status: http.StatusInternalServerError, err: errors.New("500")})
				_, ok := p.src.held.Take(retry.Suspect, time.Now().Add(time.Hour))
				assert.Equal(t, row.want, ok)
			})
		})
	}
}

// acceptRetries has the API accept n events that have failed before.
func acceptRetries(p *picking, n int) {
	for range n {
		w := &worker{admission: retry.Admission{Began: time.Now()}}
		w.one[0].attempts.Failures = 1
		p.pool.BeginAttempt(&w.sender, false, false, time.Now())
		p.accept(p.src, w, true)
	}
}

func TestAnAPIThatAcceptsRetriesFailsAtRandom(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		acceptRetries(p, 64)
		assert.True(t, p.scopes.FailsAtRandom())
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCloseStopsEveryTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		var closes atomic.Bool
		api := roundTrip(func(r *http.Request) (*http.Response, error) {
			switch n := requests.Add(1); {
			case n == 1:
				return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody}, nil
			case n%2 == 0 && closes.Load():
				<-r.Context().Done()
			case closes.Load():
				later := http.Header{"Retry-After": {"60"}}
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: later, Body: http.NoBody}, nil
			}
			return nil, errors.New("away")
		})
		tracker, err := New(Config{
			BaseURL: "https://api.example.com", APIKey: "sk_x", SiteID: "site_1", DefaultURL: "https://example.com/",
			HTTPClient: &http.Client{Transport: api}, Logger: slog.New(slog.DiscardHandler), FlushInterval: time.Hour,
		})
		require.NoError(t, err)
		for range 20 {
			require.NoError(t, tracker.Track(t.Context(), "tested"))
		}
		time.Sleep(2 * time.Hour) // some events wait for their next attempt
		closes.Store(true)
		require.NoError(t, tracker.Track(t.Context(), "tested"))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		require.Error(t, tracker.Close(ctx))
		synctest.Wait()
		tracker.source.woken.Store(false)
		time.Sleep(24 * time.Hour)
		assert.False(t, tracker.source.woken.Load(), "nothing is due")
		select {
		case <-tracker.queue.Timer():
			t.Error("the timer of batches")
		default:
		}
	})
}

func TestAnInterruptionDoesNotEndTheNextAttempt(t *testing.T) {
	api := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("away") })
	cfg := Config{BaseURL: "https://api.example.com", HTTPClient: &http.Client{Transport: api}}
	cfg = cfg.withDefaults()
	p := newNetPoster(&cfg)
	defer p.Close()
	var early senders.Interruption
	early.Begin()
	interrupt := early.Interrupter()
	assert.Error(t, p.Post(t.Context(), Record{ID: EventID(uuid.New()), interruption: &early}, &Answer{}))
	interrupt() // before the sender has noted the end of the attempt
	assert.NoError(t, p.attempts.Begin(t.Context()).Err())
}

// An event that fails slowly leaves most of the only sender's time to events that are accepted.
func TestAnEventThatFailsSlowlyWaitsForTheOnlySender(t *testing.T) {
	const took = 800 * time.Millisecond
	for name, row := range map[string]struct {
		senders  int
		accepted bool // another one, since the event failed
		closing  bool
		waits    bool
	}{
		"one sender":                             {1, true, false, true},
		"one sender, and no other is accepted":   {1, false, false, false},
		"one sender while the tracker closes":    {1, true, true, true},
		"several senders, which others may have": {2, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			inPicking(t, func(t *testing.T, p *picking) {
				p.share.Senders = row.senders
				since := time.Now()
				time.Sleep(time.Millisecond)
				if row.accepted {
					p.scopes.Accept(retry.Kind{Name: 1}, retry.Admission{Began: since}, time.Now())
					p.settled = time.Now()
				}
				r, _ := named("x")
				w := &worker{one: [1]Record{r}, closing: row.closing}
				wait := p.leastWait(w, &retry.Failure{Took: took}, false, since)
				assert.Equal(t, row.waits, wait >= 4*took)
			})
		})
	}
}

// An event that always gets 429 does not pace its kind, and the breakers know how long its attempts took.
func TestAnswersToOneEventDoNotPaceItsKind(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		r, kind := named("x")
		pass := retry.Admission{Began: time.Now()}
		refused := &ending{verdict: wire.Later, status: http.StatusTooManyRequests, err: errors.New("429")}
		refuse := func(r Record) (last retry.Event[*Record]) {
			w := &worker{one: [1]Record{r}, admission: retry.Admission{Began: time.Now()}}
			p.pool.BeginAttempt(&w.sender, false, false, time.Now())
			time.Sleep(10 * time.Millisecond)
			p.fail(p.src, w, refused)
			for _, from := range []retry.Pick{retry.Retry, retry.Suspect, retry.Turn, retry.Probe} {
				if e, ok := p.src.held.Take(from, time.Now().Add(time.Hour)); ok {
					last = e
				}
			}
			return last
		}
		p.scopes.Fail(kind, pass, &retry.Failure{First: true, Limits: true}, time.Now())
		p.scopes.Recovered(kind, time.Now())
		for range 9 {
			p.scopes.Accept(retry.Kind{Name: 1}, pass, time.Now())
			e := refuse(r)
			require.NotNil(t, e.Value)
			assert.Equal(t, 10*time.Millisecond, e.Took)
			r = *e.Value
		}
		assert.False(t, p.scopes.BlockOf(kind).IsPaced())
		for range 5 {
			other, _ := named("x")
			refuse(other)
		}
		assert.True(t, p.scopes.BlockOf(kind).IsPaced())
	})
}
