package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// posting is a Poster made of a function.
type posting struct {
	post func(ctx context.Context, r footfall.Record, a *footfall.Answer) error

	mu     sync.Mutex
	closed int
	late   bool // Post ran after Close
}

func (p *posting) Post(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
	err := p.post(ctx, r, a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = p.late || p.closed > 0
	return err
}

func (p *posting) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
}

func postAccepted(_ context.Context, _ footfall.Record, a *footfall.Answer) error {
	a.Status = 202
	a.Body = append(a.Body, `{"accepted":true}`...)
	return nil
}

// onPoster returns a tracker that posts with p.
func onPoster(t testing.TB, p *posting, change ...func(*footfall.Config)) *footfall.Tracker {
	t.Helper()
	cfg := footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey, SiteID: "s", DefaultURL: "https://example.com/"}
	quiet(&cfg)
	for _, c := range change {
		c(&cfg)
	}
	var err error
	cfg.Transport, err = footfall.NewPostingTransport(cfg, func(footfall.Config) (footfall.Poster, error) { return p, nil })
	require.NoError(t, err)
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	return tracker
}

func TestNewPostingTransportNeedsAFunction(t *testing.T) {
	t.Parallel()
	_, err := footfall.NewPostingTransport(footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey}, nil)
	assert.EqualError(t, err, "footfall: NewPostingTransport needs a function that returns a Poster")
}

func TestPosterIsOpenedOnceWithACheckedConfigAndDefaults(t *testing.T) {
	t.Parallel()
	opened := 0
	open := func(cfg footfall.Config) (footfall.Poster, error) {
		opened++
		assert.Equal(t, 5*time.Second, cfg.AttemptTimeout)
		assert.Equal(t, 64, cfg.MaxInFlight)
		return &posting{}, nil
	}
	_, err := footfall.NewPostingTransport(footfall.Config{APIKey: testKey}, open)
	assert.ErrorContains(t, err, "Config.BaseURL")
	assert.Zero(t, opened)
	_, err = footfall.NewPostingTransport(footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey}, open)
	require.NoError(t, err)
	assert.Equal(t, 1, opened)
}

func TestPosterThatCannotBeOpenedIsAnError(t *testing.T) {
	t.Parallel()
	cfg := footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey}
	broken := errors.New("no socket")
	_, err := footfall.NewPostingTransport(cfg, func(footfall.Config) (footfall.Poster, error) { return nil, broken })
	assert.ErrorIs(t, err, broken)
	_, err = footfall.NewPostingTransport(cfg, func(footfall.Config) (footfall.Poster, error) { return nil, nil })
	assert.ErrorContains(t, err, "no Poster")
}

func TestPosterIsClosedOnceAndAfterTheLastPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &posting{post: postAccepted}
		tracker := onPoster(t, p)
		track(t, tracker, 500)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, uint64(500), tracker.Stats().Delivered)
		assert.Equal(t, []any{1, false}, []any{p.closed, p.late})
	})
}

func TestPosterIsNotClosedWhileAPostRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &posting{post: func(ctx context.Context, _ footfall.Record, _ *footfall.Answer) error {
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond)
			return ctx.Err()
		}}
		tracker := onPoster(t, p)
		track(t, tracker, 50)
		require.Error(t, closeWithin(tracker, time.Second))
		assert.Equal(t, []any{1, false}, []any{p.closed, p.late})
	})
}

// A Poster may therefore register once for the end of the context.
func TestEveryPostHasTheSameContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := make(map[context.Context]bool)
		p := &posting{post: func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
			mu.Lock()
			defer mu.Unlock()
			seen[ctx] = true
			if len(seen) == 1 {
				return errors.New("once more")
			}
			return postAccepted(ctx, r, a)
		}}
		tracker := onPoster(t, p)
		track(t, tracker, 20)
		time.Sleep(time.Minute)
		_ = closeWithin(tracker, time.Second)
		assert.Len(t, seen, 1)
	})
}

func TestPanicInAPosterIsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := 3
		p := &posting{post: func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
			if panics--; panics >= 0 {
				panic("with " + testKey)
			}
			return postAccepted(ctx, r, a)
		}}
		j := &journal{}
		tracker := onPoster(t, p, j.into, func(c *footfall.Config) { c.MaxInFlight = 1 })
		track(t, tracker, 2)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, uint64(2), tracker.Stats().Delivered)
		assert.Contains(t, j.String(), "panic in the Poster")
		assert.NotContains(t, j.String(), testKey)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

func TestErrorsOfAPosterNeverHoldTheKey(t *testing.T) {
	secret := errors.New("sent Bearer " + testKey)
	for name, post := range map[string]func(context.Context, footfall.Record, *footfall.Answer) error{
		"error": func(context.Context, footfall.Record, *footfall.Answer) error { return secret },
		"cut": func(_ context.Context, _ footfall.Record, a *footfall.Answer) error {
			a.Status, a.Cut, a.Body = 404, secret, append(a.Body, testKey...)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				tracker := onPoster(t, &posting{post: post}, j.into)
				track(t, tracker, 2)
				time.Sleep(time.Minute)
				err := closeWithin(tracker, time.Second)
				require.Error(t, err)
				fmt.Fprintf(j, "%v %+v %#v", err, err, err)
				assert.NotContains(t, j.String(), testKey)
				assert.Contains(t, j.String(), "[key]")
			})
		})
	}
}

func TestAnswerIsReadUpTo16KiB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &posting{post: func(_ context.Context, _ footfall.Record, a *footfall.Answer) error {
			a.Status = 202
			a.Body = append(a.Body, strings.Repeat(" ", 16<<10)+`{"accepted":false}`...)
			return nil
		}}
		tracker := onPoster(t, p)
		track(t, tracker, 1)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, uint64(1), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// The answer's buffer is reused, without the contents of earlier answers.
func TestAnswerIsEmptyForEveryPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := &posting{post: func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
			assert.Equal(t, footfall.Answer{Body: a.Body[:0]}, *a)
			if n++; n == 1 {
				a.Status, a.RetryAfter, a.Cut, a.Body = 503, "1", errors.New("cut"), append(a.Body, "busy"...)
				return nil
			}
			return postAccepted(ctx, r, a)
		}}
		tracker := onPoster(t, p, func(c *footfall.Config) { c.MaxInFlight = 1 })
		track(t, tracker, 3)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, 4, n)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

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
