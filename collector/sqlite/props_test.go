package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Reports hold one segment in memory, so its props must not be large.
func TestSegmentsAreShorterIfTheirPropsAreLarge(t *testing.T) {
	t.Parallel()
	s := openWithSegments(t, filepath.Join(t.TempDir(), "events.db"), midday, 100)
	sqlite.LimitSegmentProps(s, 50_000)
	ref := storetest.NewReference()
	var events []store.Event
	for i := range 400 { // 400 kB
		e := numbered(i % 3)
		e.At = e.At.Add(time.Duration(i) * time.Second)
		e.Visitor = uint64(i % 7)
		e.Props = []store.Prop{{Key: "text", Value: strings.Repeat(fmt.Sprint(i%50), 500)}}
		storetest.Add(t, ref, e)
		events = append(events, e)
	}
	require.NoError(t, sqlite.AddAll(t.Context(), s, events))
	sqlite.Settle(t, s)
	require.Equal(t, 1, sqlite.Rollups(t, s))
	assert.GreaterOrEqual(t, sqlite.Segments(t, s), 7, "also after the day is rolled up")
	largest := sqlite.Scalar[int](t, s, "SELECT max(length(data)) FROM packed")
	assert.Less(t, largest, 60_000)
	storetest.Compare(t, ref, s, store.Query{Site: "s", From: begin, To: end})
	storetest.Compare(t, ref, s, store.Query{Site: "s", From: begin.Add(time.Hour), To: begin.Add(64 * time.Minute)})
	require.NoError(t, s.Close())
}

// The props of 20,000 events with 20,000 keys are a small report, and take little memory.
func TestAReportOfManyKeysIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("adds 20,000 events")
	}
	s := newStore(t)
	var events []store.Event
	for i := range 20_000 {
		e := numbered(0)
		e.At, e.Visitor = e.At.Add(time.Duration(i)*time.Millisecond), uint64(i)
		e.Props = []store.Prop{{Key: fmt.Sprint("key ", i), Value: "v"}, {Key: "often", Value: fmt.Sprint(i)}}
		events = append(events, e)
	}
	require.NoError(t, sqlite.AddAll(t.Context(), s, events))
	sqlite.Settle(t, s)
	q := store.Query{Site: "s", From: begin, To: end}
	var rows []store.PropRow
	allocated := allocated(func() {
		all, err := storetest.Props(t.Context(), s, q, "0", 20)
		require.NoError(t, err)
		rows = all.Props
	})
	assert.Len(t, rows, store.MaxReportKeys-1+20+2)
	assert.Equal(t, 20_000-store.MaxReportKeys+1, rows[len(rows)-1].Rest)
	assert.Less(t, allocated, uint64(4<<20))
}

func TestAReportOfTooManyPropsIsAnError(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for day := range 2 {
		for i := range 10 {
			e := numbered(0)
			e.At = e.At.AddDate(0, 0, day)
			e.Props = []store.Prop{{Key: "text", Value: strings.Repeat(fmt.Sprint(i), 100)}}
			storetest.Add(t, s, e)
		}
	}
	sqlite.LimitPropBytes(s, 1200)
	q := store.Query{Site: "s", From: begin, To: end}
	for range 2 { // before and after the days are rolled up
		_, err := storetest.Props(t.Context(), s, q, "0", 20)
		require.ErrorIs(t, err, store.ErrTooLarge)
		day := q
		day.To = begin.AddDate(0, 0, 1)
		_, err = storetest.Props(t.Context(), s, day, "0", 20)
		require.NoError(t, err)
		sqlite.Settle(t, s)
	}
}

// The memory for counting a day is needed once, however many reports are read.
func TestThePropsOfOneDayAreCountedAtATime(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	e := numbered(0)
	e.Props = []store.Prop{{Key: "plan", Value: "pro"}}
	storetest.Add(t, s, e)
	q := store.Query{Site: "s", From: begin, To: end}
	release := sqlite.HoldCounting(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := storetest.Props(ctx, s, q, "0", 20)
	require.ErrorIs(t, err, context.DeadlineExceeded, "it waits as long as its context")
	_, err = storetest.Totals(t.Context(), s, q)
	require.NoError(t, err, "other reports do not wait")
	release()
	all, err := storetest.Props(t.Context(), s, q, "0", 20)
	require.NoError(t, err)
	assert.Len(t, all.Props, 1)

	sqlite.Settle(t, s)
	defer sqlite.HoldCounting(t, s)()
	_, err = storetest.Props(t.Context(), s, q, "0", 20)
	require.NoError(t, err, "the day is rolled up")
}
