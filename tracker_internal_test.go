package footfall

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/senders"
)

type deaf struct{}

func (deaf) Deliver(ctx context.Context, src *Source) { <-src.Closing() }

func TestTrackDurableThatRunsOutOfTimeKeepsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := New(Config{SiteID: "site_1", DefaultURL: "https://example.com/", Transport: deaf{}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, tracker.TrackDurable(ctx, Event{Name: "paid"}), context.Canceled)
		assert.Zero(t, reflect.ValueOf(tracker.queue).Elem().FieldByName("waiters").Len())
		assert.Error(t, tracker.Close(t.Context()))
	})
}

// oneStore is a Store whose records are all taken.
type oneStore struct{}

func (oneStore) Waiting() (n int, more bool)                    { return 0, false }
func (oneStore) Take([]Record) int                              { return 0 }
func (oneStore) Retry(r Record, _ error) (kept Record, ok bool) { return r, true }
func (oneStore) Settle([]Record, Outcome, error)                {}

func TestAnyAnswerWhileTheTrackerClosesMakesFailedEventsDueAgain(t *testing.T) {
	for o, due := range map[Outcome]int{OutcomeDelivered: 1, OutcomeRejected: 1, OutcomeStored: 1, OutcomeLost: 0} {
		s := NewSource(oneStore{})
		s.Close()
		failed := Record{ID: uuid.New()}
		failed.attempts.AtClose = true
		s.Retry(failed, 0, errors.New("away"))
		s.held.Suspend()
		s.Settle([]Record{{ID: uuid.New()}}, o, nil)
		assert.Equal(t, due, s.held.Due(time.Now()), o)
	}
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
		assert.False(t, tracker.outages.(*httpTransport).timer.Stop(), "the timer of probes")
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
	assert.Error(t, p.Post(t.Context(), Record{ID: uuid.New(), early: &early}, &Answer{}))
	interrupt() // before the sender has noted the end of the attempt
	assert.NoError(t, p.attempts.Begin(t.Context()).Err())
}
