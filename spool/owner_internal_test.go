package spool

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// newTestOwner returns an owner that does not run.
func newTestOwner(t *testing.T, dir string, change ...func(*Config)) (*owner, *tracked) {
	t.Helper()
	cfg := Config{Dir: dir, Next: idle{}, MaxAge: -1, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg)
	require.NoError(t, err)
	_, q := newTestFeed()
	s.feed.src = footfall.NewSource(q)
	t.Cleanup(s.folder.leave)
	return newOwner(s, s.feed.src), q
}

// endless is a tracker's queue that always has events.
type endless struct {
	tracked
	n int
}

func (q *endless) Take(dst []footfall.Record) int {
	for i := range dst {
		q.n++
		dst[i] = some(q.n, 1)[0].rec
	}
	return len(dst)
}

func TestTheOwnerSleepsWhileAFullFileRefuses(t *testing.T) {
	o, q := newTestOwner(t, t.TempDir(), func(c *Config) { c.MaxBytes, c.RefuseNew = 3000, true })
	o.src = footfall.NewSource(&endless{tracked: *q})
	o.due.Store(true)
	o.step()
	assert.Equal(t, 3000/(headerSize+2), o.store.events)
	require.NotEmpty(t, o.wake, "there may be room for more")
	<-o.wake
	o.step()
	assert.Empty(t, o.wake)
	assert.Greater(t, o.pause(), time.Second)
	o.store.close()
	o.claim.release()
}

var errDisk = errors.New("the disk is full")

func TestAFailedFileIsTriedAfterASecondAndThenUpToEvery30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := newTestOwner(t, t.TempDir())
		var waits []time.Duration
		for range 7 {
			o.down(errDisk)
			waits = append(waits, o.pause())
			o.reopen()
			require.Nil(t, o.store, "not before it is time")
		}
		assert.Equal(t, []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 30e9, 30e9}, waits)
		time.Sleep(30 * time.Second)
		o.reopen()
		require.NotNil(t, o.store)
		assert.Zero(t, o.delay, "the next failure is a new one")
		o.store.close()
		o.claim.release()
	})
}

func TestAFileFoundDamagedWhileInUseIsReplacedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		o, _ := newTestOwner(t, dir)
		o.reopen()
		o.fail(errDamaged)
		o.reopen()
		require.NotNil(t, o.store)
		aside, err := filepath.Glob(filepath.Join(dir, "*.corrupt-*"))
		require.NoError(t, err)
		assert.Len(t, aside, 1)
		o.store.close()
		o.claim.release()
	})
}

func TestAFailedShrinkIsTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := newTestOwner(t, t.TempDir())
		o.reopen()
		inTheWay := filepath.Join(o.claim.draft(), "x")
		require.NoError(t, os.MkdirAll(inTheWay, 0o700))
		large := o.store
		large.size = largeFile
		o.shrink()
		require.NoError(t, os.RemoveAll(o.claim.draft()))
		o.shrink()
		assert.Same(t, large, o.store, "not with every step")
		time.Sleep(time.Minute)
		o.shrink()
		assert.NotSame(t, large, o.store)
		o.store.close()
		o.claim.release()
	})
}

func TestAFileThatCouldNotBeOpenedIsTriedAgainWhenTheDiskWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		o, _ := newTestOwner(t, dir)
		o.reopen()
		bad := filepath.Join(dir, "events-1.db")
		require.NoError(t, os.WriteFile(bad, []byte("damaged"), 0o600))
		inTheWay := filepath.Join(bad+".new", "x") // blocks the file for readable records
		require.NoError(t, os.MkdirAll(inTheWay, 0o700))
		o.adopt()
		require.True(t, o.ignored[bad])
		require.NoError(t, os.RemoveAll(bad+".new"))
		o.adopt()
		require.FileExists(t, bad, "it is left alone")
		o.fail(errDisk)
		time.Sleep(retryMin)
		o.reopen()
		o.adopt()
		assert.NoFileExists(t, bad, "set aside, and there was nothing in it")
		o.store.close()
		o.claim.release()
	})
}

func TestEndedEventsAreRemovedWithin50Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := newTestOwner(t, t.TempDir())
		o.store = &store{}
		o.feed.ended = []parcel{{1, 30}}
		assert.Zero(t, o.pause(), "it is seen at once")
		assert.Empty(t, o.endings(false), "others may come")
		assert.Equal(t, 50*time.Millisecond, o.pause())
		time.Sleep(o.pause())
		assert.Len(t, o.endings(false), 1)
	})
}

// The owner must not treat a directory that it does not search as overdue. It would never
// sleep.
func TestTheOwnerSleepsWhileItCannotAdopt(t *testing.T) {
	shared := func(c *Config) { c.Shared = true }
	for name, state := range map[string]func(o *owner){
		"because the tracker closes":  func(o *owner) { o.closing = true },
		"because there is no room":    func(o *owner) { o.adoption = &adoption{} },
		"because there is no file":    func(o *owner) { o.store, o.retryAt = nil, time.Now().Add(time.Minute) },
		"because it has just looked":  func(o *owner) { o.scanned = time.Now() },
		"because nobody else is here": func(o *owner) { o.cfg.Shared = false },
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := newTestOwner(t, t.TempDir(), shared)
			o.store = &store{}
			state(o)
			assert.Greater(t, o.pause(), time.Second)
		})
	}
}

// The file was written but the disk reported an error, and the events stayed in memory.
func TestEventsOfAFailedTransactionAreNotSentTwice(t *testing.T) {
	dir := t.TempDir()
	o, q := newTestOwner(t, dir)
	var records []footfall.Record
	for _, it := range some(1, 3) {
		records = append(records, it.rec)
	}
	require.NoError(t, Plant(filepath.Join(dir, "events-0.db"), records))
	c := claimOld(filepath.Join(dir, "events-0.db"))
	require.NotNil(t, c)
	defer c.release()
	o.claim, o.store = c, &store{next: 2}
	o.fail(errDisk)
	o.retryAt = time.Time{}
	o.reopen()
	require.NotNil(t, o.store)
	defer o.store.close()
	assert.Equal(t, 1, o.store.events)
	assert.Equal(t, uint64(1), o.feed.read().Events)
	assert.Equal(t, uint64(4), o.store.next, "a key is used once")
	o.fill()
	assert.Equal(t, 1, o.feed.Take(make([]footfall.Record, 9)))
	assert.Empty(t, q.moved)
}

// Faults in other code of the application are not converted to panics.
func TestAFaultIsAPanicOnlyWhileTheFileIsUsed(t *testing.T) {
	var inside bool
	require.NoError(t, (&store{}).guard(func() error {
		inside = debug.SetPanicOnFault(true)
		return nil
	}))
	assert.True(t, inside)
	assert.False(t, debug.SetPanicOnFault(false))
}

func TestALockWithoutAFileIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events-0.db")
	assert.Nil(t, claimOld(path))
	assert.NoFileExists(t, lockPath(path))
}

// A crash must leave the damaged file or its replacement.
func TestAFileThatIsSetAsideKeepsItsNameUntilItIsReplaced(t *testing.T) {
	dir := t.TempDir()
	c := &claim{path: filepath.Join(dir, "events-0.db")}
	require.NoError(t, Plant(c.path, nil))
	aside, err := c.setAside(time.Now())
	require.NoError(t, err)
	assert.FileExists(t, aside)
	assert.FileExists(t, c.path)
}

// Each probe that fails would otherwise keep its whole transaction in memory until the outage ends.
func TestAnEventThatWaitsDoesNotKeepItsTransactionInMemory(t *testing.T) {
	for name, err := range map[string]error{"failed": errDisk, "not sent": nil} {
		t.Run(name, func(t *testing.T) {
			o, _ := newTestOwner(t, t.TempDir())
			o.store = &store{next: 1}
			item, body := waitFor(t, o, err)
			runtime.GC()
			assert.Nil(t, item.Value(), "the item of another event")
			assert.Nil(t, body.Value(), "the body of another event")
			assert.Len(t, o.feed.out, 1)
			runtime.KeepAlive(o)
		})
	}
}

// waitFor stores two events in a transaction. Next gives back the first one and delivers the second
// one, whose item and body it returns.
func waitFor(t *testing.T, o *owner, err error) (other weak.Pointer[item], body weak.Pointer[byte]) {
	t.Helper()
	o.held = []footfall.Record{some(1, 1)[0].rec, some(2, 1)[0].rec}
	items, ok := o.prepare(2, nil)
	require.True(t, ok)
	other, body = weak.Make(items[1]), weak.Make(&items[1].rec.Body[0])
	o.feed.stored(items)
	taken := make([]footfall.Record, 2)
	require.Equal(t, 2, o.feed.Take(taken))
	_, ok = o.feed.Retry(taken[0], err)
	require.True(t, ok)
	o.feed.Settle(taken[1:], footfall.OutcomeDelivered, nil)
	o.held, o.change, o.arena = nil, change{}, arena{} // as the next transactions do
	return other, body
}
