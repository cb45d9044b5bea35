package footfall_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// broker is a Poster that keeps records in memory.
type broker struct {
	mu   sync.Mutex
	err  error // what Post returns, if not nil
	post func(a *footfall.Answer)
	kept map[string]bool
}

func (b *broker) Post(_ context.Context, r footfall.Record, a *footfall.Answer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Status = 202
	if b.post != nil {
		b.post(a)
	}
	if b.err == nil && a.Status == 202 {
		b.kept[r.ID.String()] = true
	}
	return b.err
}

func (b *broker) Close() {}

func (b *broker) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// openStoring returns a tracker of b, without address and key of an API.
func openStoring(t *testing.T, b *broker, log *slog.Logger) *footfall.Tracker {
	b.kept = make(map[string]bool)
	cfg := footfall.Config{SiteID: "site_1", DefaultURL: "https://example.com/", Logger: log, OnRejected: func(err *footfall.RejectedError) { log.Error(err.Error()) }}
	var err error
	cfg.Transport, err = footfall.NewStoringTransport(cfg, b)
	require.NoError(t, err)
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	return tracker
}

func TestAStoringTransportSettlesEventsAsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := &broker{}, &footfalltest.Log{}
		tracker := openStoring(t, b, log.Logger())
		require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "paid"}))
		for range 99 {
			require.NoError(t, tracker.Track(t.Context(), "seen"))
		}
		require.NoError(t, tracker.Flush(t.Context()))
		s := tracker.Stats()
		assert.Equal(t, []uint64{100, 100, 0}, []uint64{s.Tracked, s.Stored, s.Delivered})
		assert.Len(t, b.kept, 100)
		require.NoError(t, tracker.Close(t.Context()))
		assert.Empty(t, log.String())
	})
}

func TestAStoringTransportKeepsEventsBehindTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := &broker{}, &footfalltest.Log{}
		tracker := openStoring(t, b, log.Logger())
		away := errors.New("the broker is away")
		b.fail(away)
		for range 10 {
			require.NoError(t, tracker.Track(t.Context(), "seen"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		assert.ErrorIs(t, tracker.TrackDurable(ctx, footfall.Event{Name: "paid"}), away)
		var unsettled *footfall.FlushError
		require.ErrorAs(t, tracker.Flush(ctx), &unsettled)
		assert.ErrorIs(t, unsettled.Cause, away)
		assert.Contains(t, log.String(), "the store does not accept events")
		b.fail(nil)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, uint64(11), tracker.Stats().Stored)
		require.NoError(t, tracker.Close(t.Context()))
		assert.Contains(t, log.String(), "the store accepts events again")
		assert.NotContains(t, log.String(), "the API")
	})
}

// A cluster that elects a leader is away for some seconds.
func TestCloseOfAStoringTransportWaitsForTheStore(t *testing.T) {
	const longestWait = 15 * time.Second // default of Config.BackoffMax
	for name, c := range map[string]struct {
		away, timeout, took time.Duration
		outage              bool // before Close
		lost                uint64
	}{
		"the store comes back":                 {away: 12 * time.Second, timeout: 40 * time.Second, took: 12*time.Second + longestWait},
		"the store comes back after an outage": {away: 12 * time.Second, timeout: 40 * time.Second, took: 12*time.Second + longestWait, outage: true},
		"the context ends":                     {away: time.Hour, timeout: 5 * time.Second, took: 5 * time.Second, lost: 100},
		"the store stays away":                 {away: time.Hour, timeout: time.Hour, took: 50 * time.Second, lost: 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &broker{}
				tracker := openStoring(t, b, slog.New(slog.DiscardHandler))
				b.fail(errors.New("the store has no leader"))
				for range 100 {
					require.NoError(t, tracker.Track(t.Context(), "seen"))
				}
				if c.outage {
					time.Sleep(time.Minute)
				}
				time.AfterFunc(c.away, func() { b.fail(nil) })
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				began := time.Now()
				err := tracker.Close(ctx)
				assert.Equal(t, c.lost > 0, err != nil, "%v", err)
				assert.LessOrEqual(t, time.Since(began), c.took+100*time.Millisecond)
				assert.Equal(t, []uint64{100 - c.lost, c.lost}, []uint64{tracker.Stats().Stored, tracker.Stats().Dropped})
			})
		})
	}
}

func TestAStoringTransportRejectsAndSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{}
		n := 0
		b.post = func(a *footfall.Answer) {
			switch n++; n {
			case 1:
				panic("no memory")
			case 2:
				a.Status = 413
				a.Body = append(a.Body, `{"error":"too_large","message":"too large","status":413}`...)
			}
		}
		log := &footfalltest.Log{}
		tracker := openStoring(t, b, log.Logger())
		require.NoError(t, tracker.Track(t.Context(), "seen"))
		require.NoError(t, tracker.Flush(t.Context()))
		s := tracker.Stats()
		assert.Equal(t, []uint64{1, 0, 1}, []uint64{s.Tracked, s.Stored, s.Rejected})
		require.NoError(t, tracker.Close(t.Context()))
		assert.Contains(t, log.String(), "too large")
	})
}

func TestAStoringTransportNeedsAPoster(t *testing.T) {
	_, err := footfall.NewStoringTransport(footfall.Config{}, nil)
	require.ErrorContains(t, err, "needs a Poster")
	_, err = footfall.NewStoringTransport(footfall.Config{MaxInFlight: -1}, &broker{})
	require.ErrorContains(t, err, "MaxInFlight")
}
