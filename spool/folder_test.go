package spool_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

func shared(_ *footfall.Config, c *config) { c.Shared = true }

func TestASecondSpoolInADirectoryGetsAClearError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, newAPI(true))
	for _, sharing := range []bool{false, true} {
		_, err := spool.New(spool.Config{Dir: dir, Next: newAPI(true), Shared: sharing})
		require.ErrorIs(t, err, spool.ErrLocked)
		assert.ErrorContains(t, err, dir)
	}
	require.NoError(t, first.end())
	s, err := spool.New(spool.Config{Dir: dir, Next: newAPI(true)})
	require.NoError(t, err)
	footfallClose(t, s)
}

// footfallClose releases the directory of a Spool by running it without events.
func footfallClose(t *testing.T, s *spool.Spool) {
	t.Helper()
	tracker, err := footfall.New(footfall.Config{SiteID: "site_1", Transport: s})
	require.NoError(t, err)
	require.NoError(t, tracker.Close(t.Context()))
}

func TestADirectoryIsLockedUnderEveryPath(t *testing.T) {
	parent := t.TempDir()
	t.Chdir(parent)
	first := open(t, "events/", newAPI(false))
	first.keep(0, 1)
	for _, path := range []string{"events", "./events/../events/", filepath.Join(parent, "events")} {
		_, err := spool.New(spool.Config{Dir: path, Next: newAPI(true)})
		require.ErrorIs(t, err, spool.ErrLocked, path)
	}
}

func TestARelativeDirectorySurvivesChdir(t *testing.T) {
	parent := t.TempDir()
	t.Chdir(parent)
	require.NoError(t, os.Mkdir("events", 0o700))
	require.NoError(t, os.WriteFile("events/events-0.db", []byte("damaged"), 0o600))
	s, err := spool.New(spool.Config{Dir: "events", Next: newAPI(false), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	tracker, err := footfall.New(footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/", Transport: s})
	require.NoError(t, err)
	require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "order_paid"}))
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, uint64(1), tracker.Stats().Stored)
	assert.Empty(t, files(t, elsewhere, "*"))
	theFile(t, filepath.Join(parent, "events"))
}

func TestSharedSpoolsHaveAFileEach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	next := []*api{newAPI(true), newAPI(true)}
	a, b := open(t, dir, next[0], shared), open(t, dir, next[1], shared)
	a.track(0, 300)
	b.track(300, 700)
	a.flush()
	b.flush()
	assert.Equal(t, numbered(0, 300), next[0].bodies())
	assert.Equal(t, numbered(300, 700), next[1].bodies())
	assert.Len(t, files(t, dir, "events-*.db"), 2)
	_, err := spool.New(spool.Config{Dir: dir, Next: newAPI(true)})
	require.ErrorIs(t, err, spool.ErrLocked, "one that does not share")
}

func TestTheFilesOfProcessesThatEndedAreAdoptedAndDrained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone := open(t, dir, newAPI(false), shared)
	next := newAPI(true)
	s := open(t, dir, next, shared)
	gone.keep(0, 3000)
	require.NoError(t, gone.end())
	eventually(t, "adopted", func() bool { return s.spool.Stats().Adopted == 3000 })
	s.flush()
	assert.Equal(t, numbered(0, 3000), next.bodies())
	eventually(t, "one file left", func() bool { return len(files(t, dir, "events-*")) == 2 })
	assert.Contains(t, s.log.String(), "took over")
	assert.Equal(t, footfall.Stats{}, s.Stats())
}

func TestSeveralFilesAreAdoptedWithoutSharing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recent := aged(4*time.Second, 3*time.Second, 2*time.Second)
	for i := range recent {
		require.NoError(t, spool.Plant(filepath.Join(dir, "events-"+string(rune('a'+i))+".db"), recent[i:i+1]))
	}
	next := newAPI(true)
	s := open(t, dir, next)
	eventually(t, "drained", func() bool { return s.spool.Stats().Delivered == 3 })
	assert.Equal(t, numbered(0, 3), next.bodies())
	for i, id := range next.keys() {
		assert.Equal(t, recent[i].IdempotencyKey(), id)
	}
	eventually(t, "one file left", func() bool { return len(files(t, dir, "events-*.db")) == 1 })
}

func TestACopyLeftByAnInterruptedAdoptionIsSentOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	twice := aged(time.Second)
	for _, name := range []string{"events-a.db", "events-b.db"} {
		require.NoError(t, spool.Plant(filepath.Join(dir, name), twice))
	}
	next := newAPI(false)
	s := open(t, dir, next)
	eventually(t, "found", func() bool { return s.spool.Stats().Adopted == 2 })
	eventually(t, "removed", func() bool { return s.spool.Stats().Events == 1 })
	next.set(true)
	s.flush()
	assert.Len(t, next.bodies(), 1)
}

func TestADamagedFileOfAnotherProcessIsSetAside(t *testing.T) {
	t.Parallel()
	data := backlog(t, 50)
	data[len(data)/2] ^= 1
	copy(data[3*4096:], make([]byte, 4096))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "events-b.db"), data, 0o600))
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-a.db"), aged(time.Second)))
	next := newAPI(true)
	s := open(t, dir, next)
	eventually(t, "set aside", func() bool { return len(files(t, dir, "*.corrupt-*")) == 1 })
	s.flush()
	assert.Contains(t, next.bodies(), body(0))
}

func TestAFileThatCannotBeOpenedIsLeftAndLoggedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-b.db"), aged(time.Second)))
	bad := filepath.Join(dir, "events-a.db") // tried first
	require.NoError(t, os.WriteFile(bad, []byte("damaged"), 0o600))
	inTheWay := filepath.Join(bad+".new", "x") // blocks the file for readable records
	require.NoError(t, os.MkdirAll(inTheWay, 0o700))
	recent := aged(time.Second, 2*time.Second)
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-c.db"), recent[1:]))
	next := newAPI(true)
	s := open(t, dir, next)
	eventually(t, "the others", func() bool { return len(next.bodies()) == 2 })
	s.keep(5, 6)
	s.flush()
	assert.Equal(t, 1, s.log.Lines(slog.LevelError), s.log)
	assert.Contains(t, s.log.String(), bad)
	assert.False(t, s.spool.Stats().Degraded)
	assert.FileExists(t, bad)
	require.NoError(t, os.RemoveAll(bad+".new"))
	require.NoError(t, s.end())
	again := open(t, dir, next)
	eventually(t, "set aside at the next start", func() bool { return len(files(t, dir, "*.corrupt-*")) == 1 })
	require.NoError(t, again.end())
}

func TestALargeEventOfAnotherProcessDelaysNoOther(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		maxBytes int64
		adopted  uint64 // while the API is down
	}{
		"more than a transaction":     {8 << 20, 3},
		"more than the file may have": {1 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			recent := aged(4*time.Second, 3*time.Second, 2*time.Second)
			recent[1].Body = []byte(`"` + strings.Repeat("x", 3<<20) + `"`)
			for i := range recent {
				require.NoError(t, spool.Plant(filepath.Join(dir, "events-"+string(rune('a'+i))+".db"), recent[i:i+1]))
			}
			next := newAPI(false)
			s := open(t, dir, next, func(_ *footfall.Config, c *config) { c.MaxBytes = row.maxBytes })
			eventually(t, "adopted", func() bool { return s.spool.Stats().Adopted == row.adopted })
			next.set(true)
			eventually(t, "all three", func() bool { return len(next.bodies()) == 3 })
		})
	}
}

func TestAdoptedEventsCountAgainstMaxBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var old []footfall.Record
	for i := range 100 {
		r := aged(time.Second)[0]
		r.ID[14] = byte(i)
		old = append(old, r)
	}
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-a.db"), old[:10]))
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-b.db"), old[10:]))
	next := newAPI(false)
	s := open(t, dir, next, func(_ *footfall.Config, c *config) { c.MaxBytes = 5000 })
	eventually(t, "full", func() bool { return s.spool.Stats().Bytes > 4800 })
	assert.LessOrEqual(t, s.spool.Stats().Bytes, uint64(5000))
	assert.Zero(t, s.spool.Stats().Dropped)
	next.set(true)
	eventually(t, "all adopted", func() bool { return s.spool.Stats().Delivered == 100 })
}

func TestTheKeyIsNotInAnyFile(t *testing.T) {
	t.Parallel()
	const key = "sk_live_0123456789abcdef"
	dir := t.TempDir()
	discard := slog.New(slog.DiscardHandler)
	tracker, _, err := spool.Open(
		footfall.Config{BaseURL: "http://127.0.0.1:1", APIKey: key, SiteID: "site_1", DefaultURL: "https://shop.example.com/", Logger: discard},
		spool.Config{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "order_paid"}))
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, uint64(1), tracker.Stats().Stored)
	for _, name := range files(t, dir, "*") {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.False(t, bytes.Contains(data, []byte(key)), name)
	}
}

func TestOpenDeliversOverHTTP(t *testing.T) {
	t.Parallel()
	server := footfalltest.NewAPI(t)
	tracker, s, err := spool.Open(server.Config(), spool.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	for range 300 {
		require.NoError(t, tracker.Track(t.Context(), "order_paid"))
	}
	require.NoError(t, tracker.Flush(t.Context()))
	assert.Len(t, server.Events(), 300)
	assert.Equal(t, uint64(300), s.Stats().Delivered)
	require.NoError(t, tracker.Close(t.Context()))
}

func TestASpoolUsesTheLoggerOfItsTracker(t *testing.T) {
	t.Parallel()
	dir, _ := blocked(t)
	s := open(t, dir, newAPI(true), func(_ *footfall.Config, c *config) { c.Logger = nil })
	eventually(t, "told", func() bool { return s.log.Lines(slog.LevelError) == 1 })
}

func TestOpenOfADisabledTrackerTouchesNothing(t *testing.T) {
	t.Parallel()
	tracker, s, err := spool.Open(footfall.Config{Disabled: true}, spool.Config{})
	require.NoError(t, err)
	require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "order_paid"}))
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, spool.Stats{}, s.Stats())
	require.NoError(t, tracker.Close(t.Context()))
}

func TestEveryProblemOfAConfigIsNamed(t *testing.T) {
	t.Parallel()
	_, err := spool.New(spool.Config{MaxBytes: -1})
	fields := problems(err)
	assert.Equal(t, []string{"spool.Config.Dir", "spool.Config.Next", "spool.Config.MaxBytes"}, fields)
	_, _, err = spool.Open(footfall.Config{}, spool.Config{MaxBytes: -1})
	assert.Equal(t, []string{"Config.BaseURL", "Config.APIKey", "Config.SiteID", "spool.Config.Dir", "spool.Config.MaxBytes"}, problems(err))
	_, _, err = spool.Open(footfall.Config{}, spool.Config{MaxBytes: -1, Next: newAPI(true)})
	assert.Equal(t, []string{"Config.SiteID", "spool.Config.Dir", "spool.Config.MaxBytes"}, problems(err))
	_, _, err = spool.Open(footfall.Config{Transport: newAPI(true)}, spool.Config{Dir: t.TempDir()})
	assert.Equal(t, []string{"Config.SiteID"}, problems(err))
}

// problems returns the fields in an error.
func problems(err error) (fields []string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			fields = append(fields, problems(err)...)
		}
		return fields
	}
	if bad, ok := errors.AsType[*footfall.FieldError](err); ok {
		fields = append(fields, bad.Field)
	}
	return fields
}

func TestADirectoryIsFreeAgainWhenOpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, _, err := spool.Open(footfall.Config{}, spool.Config{Dir: dir, Next: newAPI(true)})
	require.Error(t, err)
	s := open(t, dir, newAPI(true))
	s.keep(0, 1)
}

func TestASpoolIsForOneTracker(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(true))
	s.keep(0, 1)
	second, err := footfall.New(footfall.Config{SiteID: "site_1", Transport: s.spool, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, second.Close(t.Context()))
	s.keep(1, 5)
	s.flush()
	assert.Contains(t, s.log.String(), "one tracker only")
}
