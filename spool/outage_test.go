package spool_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// blocked is a directory that cannot be made, because a file has a name on its path.
func blocked(t *testing.T) (dir, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "taken")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	return filepath.Join(file, "spool"), file
}

func TestEventsAreDeliveredFromMemoryWhileTheDirectoryCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir, _ := blocked(t)
	next := newAPI(true)
	s := open(t, dir, next)
	s.track(0, 3000)
	require.NoError(t, s.TrackDurable(t.Context(), "order_paid", footfall.P("n", 3000)))
	s.flush()
	assert.Equal(t, numbered(0, 3001), next.bodies())
	assert.Equal(t, footfall.Stats{Tracked: 3001, Delivered: 3001}, s.Tracker.Stats())
	assert.True(t, s.spool.Stats().Degraded)
	require.NoError(t, s.end())
	assert.Equal(t, 1, s.log.lines(slog.LevelError), s.log)
	assert.Contains(t, s.log.String(), dir)
}

func TestEventsInMemoryCountAgainstTheTrackersBounds(t *testing.T) {
	t.Parallel()
	dir, _ := blocked(t)
	s := open(t, dir, newAPI(false), func(c *footfall.Config, _ *config) { c.MaxQueueEvents = 2000 })
	s.track(0, 2000)
	require.ErrorIs(t, s.Track(t.Context(), "order_paid"), footfall.ErrQueueFull)
	assert.Equal(t, uint64(2000), s.Tracker.Stats().Queued)
	err := s.end()
	var lost *footfall.CloseError
	require.ErrorAs(t, err, &lost)
	assert.Equal(t, uint64(2000), lost.Lost, "there is no file to keep them")
}

func TestTheFileIsUsedAgainWhenItCanBe(t *testing.T) {
	t.Parallel()
	dir, file := blocked(t)
	next := newAPI(false)
	s := open(t, dir, next)
	s.track(0, 1500)
	eventually(t, "degraded", func() bool { return s.spool.Stats().Degraded })
	require.NoError(t, os.Remove(file))
	eventually(t, "stored", func() bool { return s.Tracker.Stats().Stored == 1500 })
	assert.False(t, s.spool.Stats().Degraded)
	assert.Contains(t, s.log.String(), "used again")
	next.set(true)
	s.flush()
	assert.ElementsMatch(t, numbered(0, 1500), next.bodies())
	s.balanced()
}

// The limit on the size of files is that of the process, so this test is alone.
func TestAFullDiskIsToldOnceAndEventsGoOnInMemory(t *testing.T) {
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	limit := syscall.Rlimit{Cur: 256 << 10, Max: old.Max}
	next := newAPI(false)
	s := open(t, t.TempDir(), next)
	s.keep(0, 100)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	restore := func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }
	t.Cleanup(restore)

	s.track(100, 4000)
	eventually(t, "degraded", func() bool { return s.spool.Stats().Degraded })
	s.balanced()
	next.set(true)
	eventually(t, "delivered from memory", func() bool {
		for _, b := range next.bodies() {
			if b == body(3999) {
				return true
			}
		}
		return false
	})
	assert.Equal(t, 1, s.log.lines(slog.LevelError), s.log)
	restore()
	s.flush()
	assert.ElementsMatch(t, numbered(0, 4000), next.bodies(), "each once")
	assert.Equal(t, uint64(4000), s.Tracker.Stats().Delivered)
	assert.False(t, s.spool.Stats().Degraded)
	require.NoError(t, s.end())
	s.balanced()
}

func TestABacklogIsNotReadIntoMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, newAPI(false))
	first.keep(0, 9000)
	require.NoError(t, first.end())
	next := newAPI(true)
	most := 0
	var second *spooled
	opened := make(chan struct{})
	next.answer = func(int, footfall.Record) (footfall.Outcome, error) {
		<-opened
		window, taken := second.spool.InMemory()
		most = max(most, window+taken)
		return footfall.Delivered, nil
	}
	second = open(t, dir, next)
	close(opened)
	second.flush()
	assert.Len(t, next.bodies(), 9000)
	assert.LessOrEqual(t, most, 1024+32, "the window, and what Next took at once")
	assert.Greater(t, most, 500)
}

func TestCloseGivesUpSoonWhenTheAPIDoesNotAnswer(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	attempts := 0
	s := open(t, t.TempDir(), next)
	next.set(false)
	s.keep(0, 5000)
	next.answer = func(int, footfall.Record) (footfall.Outcome, error) {
		attempts++
		return footfall.Lost, errRefused
	}
	next.mu.Lock()
	next.up = true // without telling: it is asked when the tracker closes
	next.mu.Unlock()
	require.NoError(t, s.end())
	assert.Equal(t, uint64(5000), s.Tracker.Stats().Stored)
	assert.Less(t, attempts, 100)
	assert.Positive(t, attempts)
}

func TestCloseEndsWithItsDeadlineAndEverythingIsStored(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), hanging{}, func(c *footfall.Config, _ *config) { c.FlushInterval = time.Hour })
	s.track(0, 500)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.NoError(t, s.Close(ctx))
	assert.Equal(t, footfall.Stats{Tracked: 500, Stored: 500}, s.Tracker.Stats())
}

// hanging takes one event and waits for its context.
type hanging struct{}

func (hanging) Deliver(ctx context.Context, src footfall.Source) {
	one := make([]footfall.Record, 1)
	if _, ok := src.Wait(ctx); ok && src.Take(one) == 1 {
		<-ctx.Done()
		src.Settle(one, footfall.Lost, ctx.Err())
	}
}

func TestWhatNextGivesUpIsHandedToItAgain(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	next.answer = func(n int, _ footfall.Record) (footfall.Outcome, error) {
		if n < 3 {
			return footfall.Lost, errRefused
		}
		return footfall.Delivered, nil
	}
	s := open(t, t.TempDir(), next)
	s.keep(0, 1)
	s.flush()
	assert.Equal(t, uint64(1), s.Tracker.Stats().Delivered)
	assert.Len(t, next.bodies(), 4)
}

func TestAnEventThatTheAPIRefusesLeavesTheFile(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	next.answer = func(n int, _ footfall.Record) (footfall.Outcome, error) {
		if n%2 == 0 {
			return footfall.Rejected, errRefused
		}
		return footfall.Delivered, nil
	}
	s := open(t, t.TempDir(), next)
	s.track(0, 100)
	s.flush()
	assert.Equal(t, footfall.Stats{Tracked: 100, Delivered: 50, Rejected: 50}, s.Tracker.Stats())
	assert.Equal(t, uint64(50), s.spool.Stats().Rejected)
	assert.Zero(t, s.spool.Stats().Events)
}

func TestAPanicOfNextStopsDeliveryAndNotStorage(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), panicking{})
	s.keep(0, 10)
	assert.Equal(t, uint64(10), s.Tracker.Stats().Stored)
	assert.ErrorContains(t, s.Flush(t.Context()), "the transport has stopped")
	require.NoError(t, s.end())
	assert.Contains(t, s.log.String(), "panic in Config.Next")
}

type panicking struct{}

func (panicking) Deliver(context.Context, footfall.Source) { panic("oops") }
