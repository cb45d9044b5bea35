package spool_test

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/spool"
)

// backlog returns the contents of a file with events.
func backlog(t *testing.T, events int) []byte {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, newAPI(false))
	s.keep(0, events)
	require.NoError(t, s.end())
	data, err := os.ReadFile(theFile(t, dir))
	require.NoError(t, err)
	return data
}

// plant makes a directory with a file of events.
func plant(t *testing.T, data []byte) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "events-0.db")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	return dir, file
}

// survives opens a damaged file and tracks one more event. It returns how many events of the
// file were delivered, and fails if one of them has changed.
func survives(t *testing.T, data []byte, events int, what any) (came int) {
	t.Helper()
	dir, file := plant(t, data)
	next := newAPI(true)
	s := open(t, dir, next)
	s.keep(events, events+1)
	s.flush()
	require.NoError(t, s.end())
	seen := make(map[string]bool)
	for _, b := range next.bodies() {
		seen[b] = true
	}
	require.True(t, seen[body(events)], "%v: the new event", what)
	for _, b := range numbered(0, events) {
		if seen[b] {
			came++
			delete(seen, b)
		}
	}
	require.Len(t, seen, 1, "%v: events that nobody tracked: %v", what, seen)
	if came < events || s.spool.Stats().Corrupt > 0 {
		require.Equal(t, 1, s.log.Lines(slog.LevelError), "%v: %s", what, s.log)
		aside := files(t, dir, "*.corrupt-*")
		require.Len(t, aside, 1, "%v", what)
		require.Contains(t, s.log.String(), filepath.Base(aside[0]))
		require.Contains(t, s.log.String(), file)
		kept, err := os.ReadFile(aside[0])
		require.NoError(t, err)
		require.Equal(t, data, kept, "%v: the file that was set aside is as it was", what)
	}
	return came
}

func TestAFlippedBitNeverCrashesAndNeverChangesAnEvent(t *testing.T) {
	t.Parallel()
	const events = 120
	data := backlog(t, events)
	lost := 0
	step := 512
	if testing.Short() {
		step = 4096
	}
	for at := 0; at < len(data); at += step {
		damaged := append([]byte(nil), data...)
		damaged[at+(at/step)%step] ^= 1 << (at / step % 8)
		lost += events - survives(t, damaged, events, at)
	}
	t.Logf("%d flips in a file of %d bytes: %d events could not be read", len(data)/step, len(data), lost)
}

func TestAFlippedBitInAHeaderNeverCrashes(t *testing.T) {
	t.Parallel()
	const events = 400
	data := backlog(t, events)
	for page := 0; page < len(data)/4096; page++ {
		for _, at := range []int{0, 8, 10, 11, 12, 15, 16, 20, 24, 28, 32, 33, 40, 48, 56, 64, 72} {
			if testing.Short() && at%24 != 8 {
				continue
			}
			damaged := append([]byte(nil), data...)
			damaged[4096*page+at] ^= 0x81
			survives(t, damaged, events, []int{page, at})
		}
	}
}

func TestATruncatedFileIsSetAsideAndItsReadableEventsAreDelivered(t *testing.T) {
	t.Parallel()
	const events = 120
	data := backlog(t, events)
	for size := 1; size < len(data); size += 1000 {
		survives(t, data[:size], events, size)
	}
}

func TestAnEventThatIsDamagedIsCountedAndTheOthersAreDelivered(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]int{"in the file that is used": 0, "in one that is adopted": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := backlog(t, 10)
			at := bytes.Index(data, []byte(body(5)))
			require.Positive(t, at)
			data[at+10] ^= 1
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "events-b.db"), data, 0o600))
			if others > 0 {
				require.NoError(t, spool.Plant(filepath.Join(dir, "events-a.db"), aged(time.Second)))
			}
			next := newAPI(true)
			s := open(t, dir, next)
			eventually(t, "delivered", func() bool { return len(next.bodies()) == 9+others })
			assert.NotContains(t, next.bodies(), body(5))
			assert.Equal(t, uint64(1), s.spool.Stats().Corrupt)
		})
	}
}

func TestADraftLeftByACrashIsReplaced(t *testing.T) {
	t.Parallel()
	data := backlog(t, 100)
	txid := func(page int) uint64 { return binary.LittleEndian.Uint64(data[page*4096+64:]) }
	older := 0 // of the two meta pages; without the newer one the file lacks its last transaction
	if txid(1) < txid(0) {
		older = 1
	}
	clear(data[older*4096:][:4096])
	dir, file := plant(t, data)
	require.NoError(t, os.WriteFile(file+".new", []byte("half of something"), 0o600))
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Equal(t, numbered(0, 100), next.bodies())
	assert.Empty(t, files(t, dir, "*.new"))
}

func TestAFileOfSomethingElseIsSetAside(t *testing.T) {
	t.Parallel()
	text := make([]byte, 40_000)
	for i := range text {
		text[i] = "Dear diary, "[i%12]
	}
	assert.Zero(t, survives(t, text, 0, "text"))
	assert.Zero(t, survives(t, make([]byte, 40_000), 0, "zeros"))
}

// Reading the mapped memory of a truncated file faults.
func TestTruncatingAnOpenFileDoesNotCrash(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 100, 4096, 8192, 100_000} {
		t.Run(strconv.FormatInt(size, 10), func(t *testing.T) {
			t.Parallel()
			truncateWhileOpen(t, size)
		})
	}
}

func truncateWhileOpen(t *testing.T, size int64) {
	t.Helper()
	dir := t.TempDir()
	next := newAPI(false)
	s := open(t, dir, next)
	s.keep(0, 5000)
	require.NoError(t, os.Truncate(theFile(t, dir), size))
	next.set(true)
	s.keep(5000, 5100)
	s.flush()
	got := make(map[string]bool)
	for _, b := range next.bodies() {
		got[b] = true
	}
	for _, b := range numbered(5000, 5100) {
		require.True(t, got[b], b)
	}
	s.balanced()
	assert.NotEmpty(t, files(t, dir, "*.corrupt-*"))
	assert.False(t, s.spool.Stats().Degraded)
	require.NoError(t, s.end())
	s.balanced()
	assert.Zero(t, s.Stats().Stored, "%+v %+v", s.Stats(), s.spool.Stats())
}
