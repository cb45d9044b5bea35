package spool_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// blocked returns a directory that cannot be created, because a file is in its path.
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
	require.NoError(t, s.TrackDurable(t.Context(), paid(3000)))
	s.flush()
	assert.Equal(t, numbered(0, 3001), next.bodies())
	assert.Equal(t, footfall.Stats{Tracked: 3001, Delivered: 3001}, s.Stats())
	assert.True(t, s.spool.Stats().Degraded)
	require.NoError(t, s.end())
	assert.Equal(t, 1, s.log.Lines(slog.LevelError), s.log)
	assert.Contains(t, s.log.String(), dir)
}

func TestTrackDurableFailsWhileNeitherDiskNorAPIHasTheEvent(t *testing.T) {
	t.Parallel()
	dir, _ := blocked(t)
	next := newAPI(false)
	s := open(t, dir, next)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.TrackDurable(ctx, paid(0)), context.DeadlineExceeded)
	next.set(true)
	require.NoError(t, s.TrackDurable(t.Context(), paid(1)), "the API has it")
	assert.Equal(t, numbered(0, 2), next.bodies())
}

func TestADirectoryThatIsAFileIsNoErrorOfNew(t *testing.T) {
	t.Parallel()
	_, file := blocked(t)
	next := newAPI(true)
	s := open(t, file, next)
	s.track(0, 10)
	s.flush()
	assert.Equal(t, numbered(0, 10), next.bodies())
	assert.True(t, s.spool.Stats().Degraded)
	assert.Equal(t, 1, s.log.Lines(slog.LevelError), s.log)
}

func TestEventsInMemoryCountAgainstTheTrackersBounds(t *testing.T) {
	t.Parallel()
	dir, _ := blocked(t)
	s := open(t, dir, newAPI(false), func(c *footfall.Config, _ *config) { c.MaxQueueEvents = 2000 })
	s.track(0, 2000)
	require.ErrorIs(t, s.Track(t.Context(), "order_paid"), footfall.ErrQueueFull)
	assert.Equal(t, uint64(2000), s.Stats().Queued)
	err := s.end()
	var lost *footfall.CloseError
	require.ErrorAs(t, err, &lost)
	assert.Equal(t, uint64(2000), lost.Lost, "there is no file to keep them")
}

func TestTheFileIsUsedAgainWhenItWorks(t *testing.T) {
	t.Parallel()
	dir, file := blocked(t)
	next := newAPI(false)
	s := open(t, dir, next)
	s.track(0, 1500)
	eventually(t, "degraded", func() bool { return s.spool.Stats().Degraded })
	require.NoError(t, os.Remove(file))
	eventually(t, "stored", func() bool { return s.Stats().Stored == 1500 })
	assert.False(t, s.spool.Stats().Degraded)
	assert.Contains(t, s.log.String(), "used again")
	next.set(true)
	s.flush()
	assert.ElementsMatch(t, numbered(0, 1500), next.bodies())
	s.balanced()
}

func TestABacklogIsNotReadIntoMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, newAPI(false))
	first.keep(0, 9000)
	require.NoError(t, first.end())
	next := newAPI(true)
	peak := 0
	var second *spooled
	opened := make(chan struct{})
	next.answer = func(int, footfall.Record) (footfall.Outcome, error) {
		<-opened
		window, taken := second.spool.InMemory()
		peak = max(peak, window+taken)
		return footfall.OutcomeDelivered, nil
	}
	second = open(t, dir, next)
	close(opened)
	second.flush()
	assert.Len(t, next.bodies(), 9000)
	assert.LessOrEqual(t, peak, 1024+32, "the window, and what Next took at once")
	assert.Greater(t, peak, 500)
}

func TestCloseTriesAFileThatFailedOnceMore(t *testing.T) {
	t.Parallel()
	dir, file := blocked(t)
	s := open(t, dir, newAPI(false))
	s.track(0, 100)
	eventually(t, "degraded", func() bool { return s.spool.Stats().Degraded })
	require.NoError(t, os.Remove(file))
	require.NoError(t, s.end())
	assert.Equal(t, footfall.Stats{Tracked: 100, Stored: 100}, s.Stats())
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
		return footfall.OutcomeLost, errRefused
	}
	next.mu.Lock()
	next.up = true // without waking it; it notices when the tracker closes
	next.mu.Unlock()
	require.NoError(t, s.end())
	assert.Equal(t, uint64(5000), s.Stats().Stored)
	assert.Less(t, attempts, 100)
	assert.Positive(t, attempts)
}

func TestCloseEndsWithItsDeadlineAndEverythingIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir(), hanging{}, func(c *footfall.Config, _ *config) { c.FlushInterval = time.Hour })
		s.track(0, 500)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		require.NoError(t, s.Close(ctx))
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
		assert.Equal(t, footfall.Stats{Tracked: 500, Stored: 500}, s.Stats())
	})
}

// Close has no time to deliver. The clock of a bubble does not advance while the file is
// written, so a slow disk does not use up the tenth of a second that Close allows a transport.
func TestCloseWithoutTimeStoresEverything(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, t.TempDir(), newAPI(false), func(c *footfall.Config, _ *config) { c.FlushInterval = time.Hour })
			s.track(0, 90) // less than a batch
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			began := time.Now()
			require.NoError(t, s.Close(ctx))
			require.Zero(t, time.Since(began))
			require.Equal(t, footfall.Stats{Tracked: 90, Stored: 90}, s.Stats())
		})
	}
}

func TestTrackDurableEventsDuringCloseAreInTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, newAPI(false))
	var mu sync.Mutex
	var safe []string
	var number atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				n := int(number.Add(1))
				if err := s.TrackDurable(context.Background(), paid(n)); err != nil {
					assert.ErrorIs(t, err, footfall.ErrClosed)
					return
				}
				mu.Lock()
				safe = append(safe, body(n))
				mu.Unlock()
			}
		})
	}
	eventually(t, "under way", func() bool { return number.Load() > 100 })
	require.NoError(t, s.end())
	require.NoError(t, s.end(), "a second time")
	callers.Wait()
	next := newAPI(true)
	again := open(t, dir, next)
	again.flush()
	assert.ElementsMatch(t, safe, next.bodies())
}

func TestEventsDeliveredByCloseAreNotSentAgain(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir, next := t.TempDir(), newAPI(true)
		s := open(t, dir, next, func(c *footfall.Config, _ *config) { c.FlushInterval = time.Hour })
		s.track(0, 50)
		require.NoError(t, s.end())
		require.Zero(t, s.spool.Stats().Events)
		require.NoError(t, open(t, dir, next).end())
		require.Equal(t, numbered(0, 50), next.bodies())
	}
}

// hanging takes one event and waits for its context.
type hanging struct{}

func (hanging) Deliver(ctx context.Context, src *footfall.Source) {
	one := make([]footfall.Record, 1)
	if _, ok := src.Wait(ctx); ok && src.Take(one) == 1 {
		<-ctx.Done()
		src.Settle(one, footfall.OutcomeLost, ctx.Err())
	}
}

func TestEventsThatNextGivesUpAreOfferedAgain(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	next.answer = func(n int, _ footfall.Record) (footfall.Outcome, error) {
		if n < 3 {
			return footfall.OutcomeLost, errRefused
		}
		return footfall.OutcomeDelivered, nil
	}
	s := open(t, t.TempDir(), next)
	s.keep(0, 1)
	s.flush()
	assert.Equal(t, uint64(1), s.Stats().Delivered)
	assert.Len(t, next.bodies(), 4)
}

func TestAnEventThatTheAPIRefusesLeavesTheFile(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	next.answer = func(n int, _ footfall.Record) (footfall.Outcome, error) {
		if n%2 == 0 {
			return footfall.OutcomeRejected, errRefused
		}
		return footfall.OutcomeDelivered, nil
	}
	s := open(t, t.TempDir(), next)
	s.track(0, 100)
	s.flush()
	assert.Equal(t, footfall.Stats{Tracked: 100, Delivered: 50, Rejected: 50}, s.Stats())
	assert.Equal(t, uint64(50), s.spool.Stats().Rejected)
	assert.Zero(t, s.spool.Stats().Events)
}

func TestAPanicOfNextStopsDeliveryButNotStorage(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), panicking{})
	eventually(t, "told", func() bool { return strings.Contains(s.log.String(), "events are stored and not delivered") })
	s.keep(0, 10)
	assert.Equal(t, uint64(10), s.Stats().Stored)
	assert.ErrorContains(t, s.Flush(t.Context()), "the transport has stopped")
	require.NoError(t, s.end())
	assert.Contains(t, s.log.String(), "panic in Config.Next")
}

type panicking struct{}

func (panicking) Deliver(context.Context, *footfall.Source) { panic("oops") }

func TestOutageIsThatOfNext(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(503))
	next, err := footfall.NewHTTPTransport(api.Config())
	require.NoError(t, err)
	s := open(t, t.TempDir(), next)
	require.NoError(t, s.Track(t.Context(), "seen"))
	var o footfall.Outage
	require.Eventually(t, func() (out bool) { o, out = s.Outage(); return out }, time.Minute, time.Millisecond)
	require.ErrorContains(t, o.Err, "503")
	api.Always(footfalltest.Accept())
	require.Eventually(t, func() bool { _, out := s.Outage(); return !out }, time.Minute, time.Millisecond)
}
