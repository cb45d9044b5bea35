package spool_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

func TestEventsGoThroughTheFileToNextInOrder(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	s := open(t, t.TempDir(), next)
	s.track(0, 500)
	s.flush()
	assert.Equal(t, numbered(0, 500), next.bodies())
	assert.Equal(t, footfall.Stats{Tracked: 500, Delivered: 500}, s.Stats())
	got := s.spool.Stats()
	assert.Equal(t, uint64(500), got.Delivered)
	assert.Zero(t, got.Events)
	assert.Zero(t, got.Bytes)
}

func TestTrackDurableReturnsWhenTheEventIsInTheFile(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(false))
	require.NoError(t, s.TrackDurable(t.Context(), footfall.Event{Name: "order_paid"}))
	assert.Equal(t, footfall.Stats{Tracked: 1, Stored: 1}, s.Stats())
	assert.Equal(t, uint64(1), s.spool.Stats().Events)
}

func TestStoredEventsAreDeliveredAfterARestartWithTheSameIDAndBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ids []string
	down := newAPI(true)
	down.answer = func(_ int, r footfall.Record) (footfall.Outcome, error) {
		ids = append(ids, r.IdempotencyKey())
		return footfall.OutcomeLost, errRefused
	}
	first := open(t, dir, down)
	first.keep(0, 3)
	require.NoError(t, first.end())
	assert.Equal(t, uint64(3), first.Stats().Stored)
	assert.Contains(t, first.log.String(), "events stay in the file")

	next := newAPI(true)
	second := open(t, dir, next)
	second.flush()
	assert.Equal(t, numbered(0, 3), next.bodies())
	assert.Equal(t, ids[:3], next.keys())
	assert.Equal(t, footfall.Stats{}, second.Stats(), "this tracker has tracked none of them")
	assert.Equal(t, uint64(3), second.spool.Stats().Delivered)
	assert.Equal(t, uint64(3), second.spool.Stats().Adopted)
}

func TestFlushMeansDeliveredAndNotJustStored(t *testing.T) {
	t.Parallel()
	next := newAPI(false)
	s := open(t, t.TempDir(), next)
	s.keep(0, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.Flush(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "10 events")
	next.set(true)
	s.flush()
	assert.Equal(t, uint64(10), s.Stats().Delivered)
}

// Flush calls Flush of a Next that stores events, once Next has all of them.
func TestFlushCallsFlushOfANextThatStoresEvents(t *testing.T) {
	t.Parallel()
	next := &storing{api: newAPI(true)}
	next.answer = func(int, footfall.Record) (footfall.Outcome, error) { return footfall.OutcomeStored, nil }
	s := open(t, t.TempDir(), next)
	s.track(0, 10)
	require.ErrorIs(t, s.Flush(t.Context()), errRefused)
	assert.Equal(t, 10, next.atFlush)
	assert.Equal(t, uint64(10), s.spool.Stats().HandedOver)
	assert.Equal(t, uint64(10), s.Stats().Stored, "by Next")
}

type storing struct {
	*api
	atFlush int // events that it had at the last Flush
}

func (s *storing) Flush(context.Context) error {
	s.atFlush = len(s.bodies())
	return errRefused
}

func TestCloseStoresWhatItCannotDeliver(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(false), func(c *footfall.Config, _ *config) { c.FlushInterval = time.Hour })
	s.track(0, 250)
	require.NoError(t, s.end())
	assert.Equal(t, footfall.Stats{Tracked: 250, Stored: 250}, s.Stats())
	assert.Equal(t, uint64(250), s.spool.Stats().Events)
}

func TestCloseDeliversWhatItCan(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	s := open(t, t.TempDir(), next, func(c *footfall.Config, _ *config) { c.FlushInterval = time.Hour })
	s.track(0, 5000)
	require.NoError(t, s.end())
	assert.Equal(t, footfall.Stats{Tracked: 5000, Delivered: 5000}, s.Stats())
	assert.Equal(t, numbered(0, 5000), next.bodies())
}

func TestADrainedBacklogIsDeliveredOldestFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, newAPI(false))
	first.keep(0, 8000)
	require.NoError(t, first.end())
	next := newAPI(false)
	second := open(t, dir, next)
	second.keep(8000, 9000)
	next.set(true)
	second.flush()
	assert.Equal(t, numbered(0, 9000), next.bodies())
	second.balanced()
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/a/spool"
	s := open(t, dir, newAPI(false))
	s.keep(0, 2)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	for _, name := range files(t, dir, "*") {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}
