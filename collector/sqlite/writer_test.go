package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// numbered returns an event whose name is a number.
func numbered(n int) store.Event {
	return store.Event{Site: "s", At: begin.Add(time.Hour), Name: fmt.Sprint(n), URL: "https://s.example/", Path: "/"}
}

func all(t *testing.T, s store.Store) store.Totals {
	t.Helper()
	totals, err := storetest.Totals(t.Context(), s, store.Query{Site: "s", From: begin, To: end})
	require.NoError(t, err)
	return totals
}

func newStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "events.db"), midday)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// waiting waits until the queue has this many jobs.
func waiting(t *testing.T, s *sqlite.Store, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Queued() == n }, 5*time.Second, time.Millisecond)
}

func TestCallersThatWaitShareACommit(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release := sqlite.Hold(t, s)
	before := s.Commits()
	var callers sync.WaitGroup
	for i := range 200 {
		callers.Go(func() { storetest.Add(t, s, numbered(i)) })
	}
	waiting(t, s, 200)
	release()
	callers.Wait()
	assert.EqualValues(t, 1, s.Commits()-before)
	assert.EqualValues(t, 200, all(t, s).Events)
}

func TestCommitEverySpacesCommits(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "events.db"), CommitEvery: 40 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() { // other jobs do not shorten CommitEvery
		for s.Put(ctx, "kind", store.Record{ID: "id"}) == nil {
		}
	})
	started := time.Now()
	for i := range 5 {
		storetest.Add(t, s, numbered(i))
	}
	assert.GreaterOrEqual(t, time.Since(started), 4*40*time.Millisecond)
	stop()
	others.Wait()
}

func TestAddEndsWithItsContextWhileTheWriterIsBusy(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release := sqlite.Hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() {
		_, err := s.Add(ctx, numbered(1))
		errs <- err
	}()
	waiting(t, s, 1)
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	release()
	storetest.Add(t, s, numbered(2))
	assert.EqualValues(t, 1, all(t, s).Events, "the event of the canceled call was not added")
}

func TestCloseCommitsWhatWaits(t *testing.T) {
	t.Parallel()
	for range 8 { // the writer may meet the end or the queue first
		closeWhileSomeWait(t)
	}
}

func closeWhileSomeWait(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	release := sqlite.Hold(t, s)
	var callers sync.WaitGroup
	for i := range 50 {
		callers.Go(func() { storetest.Add(t, s, numbered(i)) })
	}
	waiting(t, s, 50)
	callers.Go(func() { assert.NoError(t, s.Close()) })
	require.Eventually(t, func() bool {
		_, err := s.Records(t.Context(), "k")
		return errors.Is(err, store.ErrClosed)
	}, 5*time.Second, time.Millisecond)
	release()
	callers.Wait()
	s = open(t, file, midday)
	defer func() { require.NoError(t, s.Close()) }()
	assert.EqualValues(t, 50, all(t, s).Events)
}

func TestAddReturnsTheErrorOfAFullDiskAndWorksAgainAfterIt(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sqlite.LimitPages(t, s, 60)
	var added atomic.Int64
	failed := make(chan store.Event, 1600)
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 200 {
				e := numbered(caller*1000 + i)
				e.URL += string(make([]byte, 1000))
				if _, err := s.Add(t.Context(), e); err == nil {
					added.Add(1)
				} else {
					assert.ErrorIs(t, err, store.ErrFull)
					assert.ErrorContains(t, err, "full")
					assert.ErrorContains(t, err, "events.db")
					failed <- e
				}
			}
		})
	}
	callers.Wait()
	assert.NotZero(t, added.Load())
	assert.NotEmpty(t, failed)
	close(failed)
	q := store.Query{Site: "s", From: begin, To: end}
	rows, err := storetest.Top(t.Context(), s, q, store.Names, 10_000)
	require.NoError(t, err, "a report needs no room")
	assert.Len(t, rows, int(added.Load()), "what was acknowledged is there, and nothing else")
	sqlite.LimitPages(t, s, 1<<30)
	for e := range failed {
		storetest.Add(t, s, e)
	}
	rows, err = storetest.Top(t.Context(), s, q, store.Names, 10_000)
	require.NoError(t, err)
	assert.Len(t, rows, 1600, "each has its own name: nothing is left of the transactions that failed")
}

func TestKeysOlderThanADayAreRemoved(t *testing.T) {
	t.Parallel()
	now := atomic.Pointer[time.Time]{}
	at := begin
	now.Store(&at)
	s := open(t, filepath.Join(t.TempDir(), "events.db"), func() time.Time { return *now.Load() })
	defer func() { require.NoError(t, s.Close()) }()
	for i := range 10 {
		e := numbered(i)
		e.Key = fmt.Sprint("key ", i)
		storetest.Add(t, s, e)
	}
	later := begin.Add(store.DuplicateFor + time.Minute)
	now.Store(&later)
	e := numbered(11)
	e.Key = "another"
	storetest.Add(t, s, e)
	assert.Equal(t, 1, sqlite.Scalar[int](t, s, "SELECT count(*) FROM key"))
}
