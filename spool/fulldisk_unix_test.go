//go:build unix

package spool_test

import (
	"context"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The limit on the size of files applies to the whole process, so this test is not parallel.
func TestAFullDiskIsLoggedOnceAndEventsStayInMemory(t *testing.T) {
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	const events = 16_000                                  // more than the limit
	limit := syscall.Rlimit{Cur: 1536 << 10, Max: old.Max} // beyond the log of files that go test writes
	next := newAPI(false)
	s := open(t, t.TempDir(), next)
	s.keep(0, 100)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	restore := func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }
	t.Cleanup(restore)

	s.track(100, events)
	eventually(t, "degraded", func() bool { return s.spool.Stats().Degraded })
	s.balanced()
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.TrackDurable(soon, paid(events)), context.DeadlineExceeded, "it is not safe")
	next.set(true)
	eventually(t, "delivered from memory", func() bool { return slices.Contains(next.bodies(), body(events-1)) })
	assert.Equal(t, 1, s.log.Lines(slog.LevelError), s.log)
	restore()
	s.flush()
	assert.Equal(t, slices.Sorted(slices.Values(numbered(0, events+1))), slices.Sorted(slices.Values(next.bodies())), "each once")
	assert.Equal(t, uint64(events+1), s.Stats().Delivered)
	assert.False(t, s.spool.Stats().Degraded)
	require.NoError(t, s.end())
	s.balanced()
}
