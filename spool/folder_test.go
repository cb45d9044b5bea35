package spool_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// footfallClose gives the directory of a Spool back by using it for nothing.
func footfallClose(t *testing.T, s *spool.Spool) {
	t.Helper()
	tracker, err := footfall.New(footfall.Config{SiteID: "site_1", Transport: s})
	require.NoError(t, err)
	require.NoError(t, tracker.Close(t.Context()))
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
	assert.Equal(t, footfall.Stats{}, s.Tracker.Stats())
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
	eventually(t, "one file left", func() bool { return len(files(t, dir, "events-*.db")) == 1 })
}

func TestACopyThatAnInterruptedAdoptionLeftIsSentOnce(t *testing.T) {
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

func TestTheKeyIsNotInAnyFile(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // a dead port
	const key = "sk_live_0123456789abcdef"
	dir := t.TempDir()
	quiet := slog.New(slog.DiscardHandler)
	tracker, _, err := spool.Open(
		footfall.Config{BaseURL: server.URL, APIKey: key, SiteID: "site_1", DefaultURL: "https://shop.example.com/", Logger: quiet},
		spool.Config{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, tracker.TrackDurable(t.Context(), "order_paid"))
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

func TestOpenOfADisabledTrackerTouchesNothing(t *testing.T) {
	t.Parallel()
	tracker, s, err := spool.Open(footfall.Config{Disabled: true}, spool.Config{})
	require.NoError(t, err)
	require.NoError(t, tracker.TrackDurable(t.Context(), "order_paid"))
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
	_, _, err = spool.Open(footfall.Config{}, spool.Config{Dir: t.TempDir(), Next: newAPI(true)})
	assert.Equal(t, []string{"Config.SiteID"}, problems(err))
}

// problems returns the fields that an error names.
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
	assert.Contains(t, s.log.String(), "for one tracker")
}
