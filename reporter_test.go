package footfall_test

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// enabledFails is a slog.Handler whose Enabled panics.
type enabledFails struct {
	slog.Handler
	fail func()
}

func (h enabledFails) Enabled(context.Context, slog.Level) bool { h.fail(); return true }

// handleFails is a slog.Handler whose Handle panics.
type handleFails struct {
	slog.Handler
	fail func()
}

func (h handleFails) Handle(ctx context.Context, r slog.Record) error {
	h.fail()
	return h.Handler.Handle(ctx, r)
}

// Senders, the timer for events that were not accepted, and Close write to the log.
func TestLogThatFailsStopsNeitherDeliveryNorClose(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panic": func() { panic("in the log") }, "runtime.Goexit": runtime.Goexit} {
		for method, handler := range map[string]slog.Handler{
			"Enabled": enabledFails{slog.DiscardHandler, fail},
			"Handle":  handleFails{(&journal{}).Logger().Handler(), fail},
		} {
			t.Run(name+" in "+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeNet()
					f.set(answerStatus(401))
					tracker := start(t, f, func(c *footfall.Config) { c.Logger = slog.New(handler) })
					track(t, tracker, 100)
					assert.Error(t, tracker.Track(context.Background(), ""))
					time.Sleep(time.Minute)
					assert.Error(t, tracker.Track(context.Background(), ""))
					f.set(answerStatus(202))
					require.NoError(t, closeWithin(tracker, time.Minute))
					assert.Equal(t, footfall.Stats{Tracked: 100, Delivered: 100, Invalid: 2}, tracker.Stats())
				})
			})
		}
	}
}

func TestErrorsAreLoggedAlthoughEnabledFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panic": func() { panic("in the log") }, "runtime.Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, j := newFakeNet(), &journal{}
				f.set(answerStatus(401))
				tracker := start(t, f, func(c *footfall.Config) { c.Logger = slog.New(enabledFails{j.Logger().Handler(), fail}) })
				track(t, tracker, 1)
				time.Sleep(time.Minute)
				assert.Equal(t, 1, j.Lines(slog.LevelError), j.String())
				f.set(answerStatus(202))
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

func TestEventsTrackedAfterCloseAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		tracker := start(t, newFakeNet(), j.into)
		assert.Error(t, tracker.Track(context.Background(), ""))
		require.NoError(t, closeWithin(tracker, time.Second))
		told := j.String()
		for range 3 {
			assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
			assert.Error(t, tracker.Track(context.Background(), ""))
			time.Sleep(time.Hour)
		}
		assert.Equal(t, told, j.String())
		assert.Equal(t, footfall.Stats{Invalid: 4, Refused: 3}, tracker.Stats())
	})
}

func TestAnswersAfterCloseAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		late := roundTripper(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Hour) // even if the context has ended
			return response(401, nil, ""), nil
		})
		tracker := start(t, late, j.into)
		track(t, tracker, 1)
		require.Error(t, closeWithin(tracker, 2*time.Second))
		time.Sleep(2 * time.Hour)
		assert.Empty(t, j.String())
	})
}

func TestLineBehindABlockedLogIsNotWrittenAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, free := &journal{}, make(chan struct{})
		handler := handleFails{j.Logger().Handler(), func() { <-free }}
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Logger = slog.New(handler) })
		assert.Error(t, tracker.Track(context.Background(), ""))
		synctest.Wait() // the line is in progress
		assert.Error(t, tracker.Track(context.Background(), ""))
		require.NoError(t, closeWithin(tracker, time.Minute))
		close(free)
		synctest.Wait()
		assert.Equal(t, 1, j.Lines(slog.LevelWarn), "the one that was begun before: %s", j)
	})
}

// The sender that delivers the first event after an outage logs that the API accepts events
// again.
func TestAnEventIsSettledBeforeItsAnswerIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(503))
		told := make(chan footfall.Stats, 10)
		var tracker *footfall.Tracker
		handler := handleFails{slog.DiscardHandler, func() { told <- tracker.Stats() }}
		tracker = start(t, f, func(c *footfall.Config) { c.Logger = slog.New(enabledFails{handler, func() {}}) })
		track(t, tracker, 1)
		time.Sleep(time.Minute)
		require.Equal(t, footfall.Stats{Tracked: 1, Queued: 1}, counts(<-told))
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(t.Context()))
		require.Equal(t, footfall.Stats{Tracked: 1, Delivered: 1}, counts(<-told))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// stuck is a writer that blocks until free is closed.
type stuck struct{ free chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return len(p), nil
}

func TestBlockedLogDelaysNeitherTrackNorClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		log := stuck{make(chan struct{})}
		tracker := start(t, f, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		began := time.Now()
		for range 100 {
			assert.Error(t, tracker.Track(context.Background(), ""))
		}
		assert.Zero(t, time.Since(began))
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.LessOrEqual(t, time.Since(began), time.Second)
		close(log.free)
	})
}

func TestBlockedLogDelaysCloseByATenthOfASecondAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stuck{make(chan struct{})}
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		assert.Error(t, tracker.Track(context.Background(), ""))
		began := time.Now()
		require.NoError(t, closeWithin(tracker, 50*time.Millisecond))
		assert.Equal(t, 150*time.Millisecond, time.Since(began))
		close(log.free)
	})
}

func TestRefusedEventsAreLoggedAtMostOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		tracker := start(t, f, j.into)
		for range 600 {
			_ = tracker.Track(context.Background(), "")
			time.Sleep(time.Second)
		}
		assert.InDelta(t, 10, j.Lines(slog.LevelWarn), 1, j.String())
		assert.Equal(t, footfall.Stats{Invalid: 600}, tracker.Stats())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestEventsNotAcceptedAreALineAtOnceAndThenOneAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		tracker := start(t, newFakeNet(), j.into)
		_ = tracker.Track(context.Background(), "")
		synctest.Wait()
		assert.Equal(t, 1, j.Lines(slog.LevelWarn), "at once")
		assert.Contains(t, j.String(), "events were refused, rejected or dropped")
		for range 10 * 60 * 10 {
			_ = tracker.Track(context.Background(), "")
			time.Sleep(100 * time.Millisecond)
		}
		assert.InDelta(t, 11, j.Lines(slog.LevelWarn), 1)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

func TestPanicInOnErrorIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerRefused(422))
		tracker := start(t, f, j.into, func(c *footfall.Config) { c.OnRejected = func(*footfall.RejectedError) { panic("boom") } })
		track(t, tracker, 1)
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.Contains(t, j.String(), "Config.OnRejected has failed")
		assert.Contains(t, j.String(), "panic: boom")
	})
}

func TestOnErrorThatEndsItsGoroutineStopsNeitherDeliveryNorClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerRefused(422))
		tracker := start(t, f, j.into, func(c *footfall.Config) { c.OnRejected = func(*footfall.RejectedError) { runtime.Goexit() } })
		track(t, tracker, 100)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, footfall.Stats{Tracked: 100, Rejected: 100}, tracker.Stats())
		assert.Contains(t, j.String(), "runtime.Goexit was called")
	})
}

// counts returns s without bytes.
func counts(s footfall.Stats) footfall.Stats {
	s.QueuedBytes = 0
	return s
}
