package footfall_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// panicking is a slog.Handler of the application with a defect.
type panicking struct{ slog.Handler }

func (panicking) Handle(context.Context, slog.Record) error { panic("in the log") }

func TestPanicOfTheLogDoesNotReachTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(401))
		tracker := start(t, f, func(c *footfall.Config) { c.Logger = slog.New(panicking{slog.DiscardHandler}) })
		track(t, tracker, 1)
		assert.Error(t, tracker.Track(context.Background(), ""))
		time.Sleep(time.Minute)
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// stuck is where a log goes that nobody reads.
type stuck struct{ free chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return len(p), nil
}

func TestLogThatIsStuckHoldsUpNeitherTrackNorClose(t *testing.T) {
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

func TestLogThatIsStuckHoldsUpCloseForATenthOfASecondWhenItsTimeIsOver(t *testing.T) {
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

func TestLogIsToldOfRefusedEventsAtMostOnceAMinute(t *testing.T) {
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
		f.set(answerStatus(422))
		tracker := start(t, f, j.into, func(c *footfall.Config) { c.OnError = func(error) { panic("boom") } })
		track(t, tracker, 1)
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.Contains(t, j.String(), "panic in Config.OnError")
	})
}
