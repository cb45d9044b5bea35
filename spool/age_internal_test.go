package spool

import (
	"encoding/binary"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// wrongTimes are wall clocks of machines that have just booted, or whose clock was set.
var wrongTimes = []time.Time{
	time.Unix(0, 0), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
}

// queued is a tracker's queue of events whose ids have wrong times.
type queued struct {
	tracked
	times []time.Time
}

func (q *queued) Take(dst []footfall.Record) (n int) {
	for ; n < len(dst) && len(q.times) > 0; n++ {
		id := [16]byte{15: byte(len(q.times))}
		binary.BigEndian.PutUint64(id[:8], uint64(q.times[0].UnixMilli())<<16|0x7000)
		dst[n], q.times = footfall.Record{ID: id, Body: []byte("{}")}, q.times[1:]
	}
	return n
}

// aging is an owner whose file keeps events for an hour.
type aging struct {
	*owner
	tracked *tracked
	t       *testing.T
}

func age(t *testing.T, dir string, change ...func(*Config)) *aging {
	t.Helper()
	o, q := newTestOwner(t, dir, append(change, func(c *Config) { c.MaxAge = time.Hour })...)
	o.src = footfall.NewSource(&queued{tracked: *q})
	return &aging{o, q, t}
}

// keep stores events with wrong times.
func (a *aging) keep() {
	a.t.Helper()
	before := a.feed.read().Events
	a.src = footfall.NewSource(&queued{*a.tracked, wrongTimes})
	a.due.Store(true)
	a.step()
	require.Equal(a.t, before+uint64(len(wrongTimes)), a.feed.read().Events)
}

// run runs the owner for a while.
func (a *aging) run(d time.Duration) {
	a.step()
	for end := time.Now().Add(d); time.Now().Before(end); a.step() {
		time.Sleep(min(time.Until(end), time.Minute))
	}
}

// kill ends the owner without writing, like a kill.
func (a *aging) kill() {
	if a.store != nil {
		a.store.close()
	}
	a.claim.release()
	a.folder.leave()
}

func (a *aging) expired() int { return int(a.feed.read().Expired) }

func TestEventsExpireAfterMaxAgeInTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := age(t, t.TempDir())
		defer a.kill()
		a.run(30 * time.Minute) // before there are any events
		a.keep()
		a.run(time.Hour)
		assert.Zero(t, a.expired())
		a.run(2 * time.Minute)
		assert.Equal(t, len(wrongTimes), a.expired())
		assert.Zero(t, a.feed.read().Events)
		assert.Equal(t, map[footfall.Outcome]int{footfall.OutcomeLost: len(wrongTimes)}, a.tracked.moved)
	})
}

// Between two runs, a minute or a year may pass. Only the wall clock could tell, so this time
// does not count.
func TestOnlyTimeForWhichAProcessHasTheFileOpenMakesAnEventOlder(t *testing.T) {
	for name, end := range map[string]func(a *aging){
		"closed": func(a *aging) { a.finish() },
		"killed": func(a *aging) { a.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				a := age(t, dir)
				a.keep()
				for range 3 {
					a.run(20*time.Minute - time.Second)
					assert.Zero(t, a.expired())
					end(a)
					time.Sleep(1000 * time.Hour)
					a = age(t, dir)
				}
				defer a.kill()
				a.run(5 * time.Minute)
				assert.Equal(t, len(wrongTimes), a.expired())
				assert.Empty(t, a.tracked.moved, "they were not this tracker's")
			})
		})
	}
}

func TestAShortRunThatIsClosedMakesEventsOlderToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a := age(t, dir)
		a.keep()
		for range 110 {
			a.run(31 * time.Second)
			require.Zero(t, a.expired())
			a.finish()
			a = age(t, dir)
		}
		defer a.kill()
		a.run(5 * time.Minute)
		assert.Equal(t, len(wrongTimes), a.expired())
	})
}

func TestEventsOfTheFirstVersionAgeFromTheUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		plantPlain(t, filepath.Join(dir, "events-0.db"), 3)
		a := age(t, dir)
		a.run(40 * time.Minute)
		require.Equal(t, uint64(3), a.feed.read().Events)
		assert.Zero(t, a.feed.read().Corrupt)
		a.keep()
		a.kill()
		a = age(t, dir)
		a.run(19 * time.Minute)
		assert.Zero(t, a.expired())
		a.run(3 * time.Minute)
		assert.Equal(t, 3, a.expired())
		assert.Equal(t, uint64(len(wrongTimes)), a.feed.read().Events, "those that came later")
		a.kill()
	})
}

// plantPlain makes a file in the format of the first version.
func plantPlain(t *testing.T, path string, n int) {
	t.Helper()
	s, err := openStore(path, contents{})
	require.NoError(t, err)
	defer s.close()
	var c change
	for _, it := range some(1, n) {
		c.keys = append(c.keys, appendKey(nil, it.key))
		c.values = append(c.values, plain(it.key, 4711, &it.rec))
	}
	require.NoError(t, s.commit(&c))
}

func TestAnEventThatIsTakenOverKeepsItsAge(t *testing.T) {
	shared := func(c *Config) { c.Shared = true }
	for name, before := range map[string]time.Duration{"by an older process": 50 * time.Hour, "by a younger process": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				heir := age(t, dir, shared)
				defer heir.kill()
				heir.step()
				heir.run(before)
				other := age(t, dir, shared)
				other.keep()
				other.run(40 * time.Minute)
				other.kill()
				heir.run(19 * time.Minute)
				require.Equal(t, uint64(len(wrongTimes)), heir.feed.read().Events)
				assert.Zero(t, heir.expired())
				heir.run(3 * time.Minute)
				assert.Equal(t, len(wrongTimes), heir.expired())
			})
		})
	}
}

// A process may run for long before it can open a file. Another process may have written to it
// since.
func TestTimeBeforeAFileIsOpenedIsNotTheAgeOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		late := age(t, dir, func(c *Config) { c.Shared = true })
		time.Sleep(100 * time.Hour)
		other := age(t, dir, func(c *Config) { c.Shared = true })
		other.keep()
		other.kill()
		late.run(59 * time.Minute)
		defer late.kill()
		assert.Equal(t, uint64(len(wrongTimes)), late.feed.read().Events)
		assert.Zero(t, late.expired())
	})
}

func TestTheClockGoesOnWhenAFileIsReplaced(t *testing.T) {
	for name, replace := range map[string]func(a *aging){
		"by a small one":        func(a *aging) { a.store.size = largeFile; a.shrink() },
		"because it failed":     func(a *aging) { a.fail(errDisk) },
		"because it is damaged": func(a *aging) { a.fail(errDamaged) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				a := age(t, dir)
				a.keep()
				a.run(20 * time.Minute)
				before := a.store
				replace(a)
				a.run(21 * time.Minute)
				require.NotSame(t, before, a.store)
				a.kill()
				a = age(t, dir)
				defer a.kill()
				a.run(17 * time.Minute)
				assert.Zero(t, a.expired())
				a.run(4 * time.Minute)
				assert.Equal(t, len(wrongTimes), a.expired())
			})
		})
	}
}

func TestAClockThatCannotBeWrittenIsAFailureOfTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := age(t, t.TempDir())
		a.keep()
		a.store.close()
		a.store.db = nil // a panic in bbolt's place
		time.Sleep(10 * time.Minute)
		a.sweep()
		assert.Nil(t, a.store)
		assert.True(t, a.feed.read().Degraded)
		a.kill()
	})
}

func TestTheRecordOfTheClockIsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a := age(t, dir)
		a.keep()
		a.run(30 * time.Minute)
		require.NotZero(t, a.store.clock)
		path := a.claim.path
		a.kill()
		found, err := inspect(path, nothing(1))
		require.NoError(t, err)
		assert.Equal(t, len(wrongTimes), found.events)
		assert.Equal(t, int64(len(wrongTimes)*(headerSize+2)), found.bytes)
		assert.Equal(t, uint64(len(wrongTimes)), found.last)
		a = age(t, dir)
		defer a.kill()
		a.step()
		taken := make([]footfall.Record, 9)
		assert.Equal(t, len(wrongTimes), a.feed.Take(taken))
	})
}

func TestTheClockIsNotWrittenToAFileWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := age(t, t.TempDir())
		defer a.kill()
		a.run(time.Hour)
		assert.Zero(t, a.store.clock)
	})
}

func TestASmallFileHasTheClockOfTheLargeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := age(t, t.TempDir())
		a.keep()
		a.run(30 * time.Minute)
		large := a.store
		large.size = largeFile
		a.shrink()
		require.NotSame(t, large, a.store)
		a.kill()
		found, err := inspect(a.claim.path, nothing(1))
		require.NoError(t, err)
		assert.Equal(t, 30*time.Minute, found.clock)
	})
}

func TestADamagedRecordOfTheClockIsNoLostEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events-0.db")
	require.NoError(t, Plant(path, []footfall.Record{some(1, 1)[0].rec}, time.Hour))
	s, err := openStore(path, contents{})
	require.NoError(t, err)
	require.NoError(t, s.commit(&change{keys: [][]byte{appendKey(nil, clockKey)}, values: [][]byte{[]byte("damaged")}}))
	s.close()
	found, err := inspect(path, nothing(1))
	require.ErrorIs(t, err, errDamaged)
	assert.Zero(t, found.damaged)
	assert.Equal(t, 1, found.events)
}
