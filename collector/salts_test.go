package collector

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// view sends a pageview from an address.
func (s *service) view(addr, userAgent string) int {
	r := httptest.NewRequest("POST", "/e", strings.NewReader(pageview))
	r.RemoteAddr = addr + ":1234"
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("User-Agent", userAgent)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code
}

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func saltsIn(t *testing.T, st store.Store) map[string]string {
	t.Helper()
	records, err := st.Records(t.Context(), kindSalt)
	require.NoError(t, err)
	all := make(map[string]string)
	for _, r := range records {
		all[r.ID] = string(r.Data)
	}
	return all
}

func inUTC() []*time.Location { return []*time.Location{time.UTC} }

func visitorsOf(events []store.Event) map[uint64]int {
	all := make(map[uint64]int)
	for _, e := range events {
		all[e.Visitor]++
	}
	return all
}

func TestVisitorIsSiteAddressAndUserAgent(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	for _, from := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2"} {
		require.Equal(t, 202, s.view(from, firefox))
		require.Equal(t, 202, s.view(from, firefox+" x"))
	}
	visitors := visitorsOf(s.stored(t))
	assert.Len(t, visitors, 4)
	assert.NotContains(t, visitors, uint64(0))

	var salt [saltSize]byte
	addr := netip.MustParseAddr("192.0.2.1")
	assert.Equal(t, visitorOf(&salt, "a", addr, "b"), visitorOf(&salt, "a", netip.MustParseAddr("::ffff:192.0.2.1"), "b"))
	assert.NotEqual(t, visitorOf(&salt, "a", addr, "b"), visitorOf(&salt, "b", addr, "b"))
	assert.NotEqual(t, visitorOf(&salt, "a", addr, "b"), visitorOf(&[saltSize]byte{1}, "a", addr, "b"))
}

func TestSaltIsDestroyedWhenItsDayIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		s := prepare(t, Config{Store: st})
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		first := saltsIn(t, st)
		require.Len(t, first, 1)
		s.salts.mu.Lock()
		inMemory := slices.Collect(maps.Values(s.salts.days))[0].salt
		s.salts.mu.Unlock()

		time.Sleep(24*time.Hour + choreEvery) // without any request
		synctest.Wait()
		second := saltsIn(t, st)
		require.Len(t, second, 1)
		for day, salt := range first {
			assert.NotContains(t, second, day)
			for _, other := range second {
				assert.NotEqual(t, salt, other)
			}
		}
		s.salts.mu.Lock()
		assert.Equal(t, make([]byte, saltSize), inMemory, "nor in memory")
		s.salts.mu.Unlock()

		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		assert.Len(t, visitorsOf(s.stored(t)), 2, "the same browser is another visitor the next day")
	})
}

func TestFirstEventOfADayDestroysTheSaltOfTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		s := salts{store: st, zones: inUTC} // without chores
		one, _, err := s.today(t.Context(), time.UTC)
		require.NoError(t, err)
		time.Sleep(24 * time.Hour)
		two, at, err := s.today(t.Context(), time.UTC)
		require.NoError(t, err)
		assert.NotEqual(t, one, two)
		assert.Equal(t, map[string]string{at.Format(time.DateOnly): string(two[:])}, saltsIn(t, st))
	})
}

// A clock may be set wrong, and right again.
func TestAClockThatWasADayAheadStampsNoEventsOfTomorrow(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	s := &salts{store: st, zones: inUTC}
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	tomorrow := noon.AddDate(0, 0, 1)
	first, at, err := s.on(t.Context(), noon, time.UTC)
	require.NoError(t, err)
	assert.Equal(t, noon, at)
	_, at, err = s.on(t.Context(), tomorrow, time.UTC)
	require.NoError(t, err)
	assert.Equal(t, tomorrow, at)
	again, at, err := s.on(t.Context(), noon.Add(time.Minute), time.UTC)
	require.NoError(t, err)
	assert.Equal(t, noon.Add(time.Minute), at)
	assert.NotEqual(t, first, again, "the first salt is destroyed")
	salts := saltsIn(t, st)
	assert.Len(t, salts, 1)
	assert.Contains(t, salts, "2026-11-23")

	midnight := tomorrow.Truncate(24 * time.Hour)
	third, _, err := s.on(t.Context(), midnight.Add(time.Second), time.UTC)
	require.NoError(t, err)
	for _, back := range []time.Duration{time.Millisecond, time.Minute, time.Hour} {
		salt, at, err := s.on(t.Context(), midnight.Add(-back), time.UTC)
		require.NoError(t, err)
		assert.Equal(t, []any{third, midnight}, []any{salt, at}, "a clock that is corrected by %v at midnight", back)
	}
}

// Events of a site have the same salt if they are on the same day of its zone, and no salt outlives its days.
func TestSaltsTurnAtTheMidnightOfEachSite(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(11, seed))
		st := storetest.NewReference()
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		var zones []*time.Location
		for range 1 + rng.IntN(4) {
			zones = append(zones, cmp.Or(storetest.RandomZone(rng, now, now.AddDate(0, 0, 10)), time.UTC))
		}
		s := &salts{store: st, zones: func() []*time.Location { return slices.Clone(zones) }}
		seen, dates := make(map[string]int), make(map[int]string)
		for range 400 {
			now = now.Add(time.Duration(rng.Int64N(int64(time.Hour))))
			zone := zones[rng.IntN(len(zones))]
			salt, at, err := s.on(t.Context(), now, zone)
			require.NoError(t, err)
			require.Equal(t, now, at)
			date := number(localtime.DayOf(now, zone))
			if of, known := seen[string(salt[:])]; known {
				require.Equal(t, of, date, "seed %d: the salt of another day", seed)
			}
			if of, known := dates[date]; known {
				require.Equal(t, of, string(salt[:]), "seed %d: another salt on the same day", seed)
			}
			seen[string(salt[:])], dates[date] = date, string(salt[:])
			current := make(map[string]bool)
			for _, zone := range zones {
				current[localtime.DayOf(now, zone).Format(time.DateOnly)] = true
			}
			require.Equal(t, slices.Sorted(maps.Keys(current)), slices.Sorted(maps.Keys(saltsIn(t, st))), "seed %d", seed)
		}
	}
}

// A site in another zone has another date, and the salt of that date is no sign that the clock was there.
func TestASiteInANewZoneHasTheTimeOfItsClock(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 13*60*60)
	zones := []*time.Location{east}
	s := &salts{store: storetest.NewReference(), zones: func() []*time.Location { return slices.Clone(zones) }}
	now := time.Date(2026, 11, 27, 23, 5, 0, 0, time.UTC)
	_, _, err := s.on(t.Context(), now, east)
	require.NoError(t, err)
	zones = append(zones, time.UTC)
	_, at, err := s.on(t.Context(), now.Add(time.Minute), time.UTC)
	require.NoError(t, err)
	assert.Equal(t, now.Add(time.Minute), at)
}

func TestAClockThatIsCorrectedAtMidnightKeepsTheSaltOfTheNewDay(t *testing.T) {
	t.Parallel()
	west := time.FixedZone("west", -8*60*60)
	for _, zones := range [][]*time.Location{{time.UTC}, {time.UTC, west}} {
		s := &salts{store: storetest.NewReference(), zones: func() []*time.Location { return slices.Clone(zones) }}
		midnight := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
		_, _, err := s.on(t.Context(), midnight.Add(-time.Hour), time.UTC)
		require.NoError(t, err)
		before, _, err := s.on(t.Context(), midnight.Add(2*time.Minute), time.UTC) // the clock is five minutes ahead
		require.NoError(t, err)
		require.NoError(t, s.renew(t.Context(), midnight.Add(-3*time.Minute), zones))
		after, _, err := s.on(t.Context(), midnight.Add(3*time.Minute), time.UTC)
		require.NoError(t, err)
		assert.Equal(t, before, after, "%d zones", len(zones))
	}
}

// unreadable is a store whose records cannot be read now.
type unreadable struct{ store.Store }

func (unreadable) Records(context.Context, string) ([]store.Record, error) { return nil, store.ErrBusy }

func TestSaltsOfTheDayAreNotReadAgain(t *testing.T) {
	t.Parallel()
	s := &salts{store: storetest.NewReference(), zones: inUTC}
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	first, _, err := s.on(t.Context(), noon, time.UTC)
	require.NoError(t, err)
	s.store = unreadable{s.store}
	require.NoError(t, s.renew(t.Context(), noon.Add(time.Minute), inUTC()))
	again, _, err := s.on(t.Context(), noon.Add(2*time.Minute), time.UTC)
	require.NoError(t, err)
	assert.Equal(t, first, again)
}

func number(day time.Time) int { return int(day.Unix()) }

func TestAVisitorIsOneUntilMidnightOfTheSite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
		s := prepare(t, Config{Store: storetest.NewReference()})
		site := s.site
		site.Zone = "America/Los_Angeles"
		require.NoError(t, s.Account().ChangeSite(t.Context(), site))
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		time.Sleep(8*time.Hour - time.Minute)
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		assert.Len(t, visitorsOf(s.stored(t)), 1, "from 16:00 until 23:59")
		time.Sleep(2 * time.Minute)
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		time.Sleep(17 * time.Hour)
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		assert.Len(t, visitorsOf(s.stored(t)), 2, "and one on the next day, over midnight UTC")
	})
}

func TestRestartKeepsTodaysSaltAndNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		s := prepare(t, Config{Store: st})
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		require.NoError(t, st.Put(t.Context(), kindSalt, store.Record{ID: "1999-12-30", Data: make([]byte, saltSize)}))
		again := prepare(t, Config{Store: st})
		require.Equal(t, 202, again.view("192.0.2.1", firefox))
		assert.Len(t, visitorsOf(s.stored(t)), 1)
		assert.Len(t, saltsIn(t, st), 1)
	})
}

// removing is a store whose Remove fails while stuck is set.
type removing struct {
	store.Store
	stuck *bool
}

func (r removing) Remove(ctx context.Context, kind, id string) error {
	if *r.stuck {
		return store.ErrClosed
	}
	return r.Store.Remove(ctx, kind, id)
}

func TestNewSaltRequiresRemovalOfTheOldOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := false
		s := salts{store: removing{storetest.NewReference(), &stuck}, zones: inUTC}
		_, _, err := s.today(t.Context(), time.UTC)
		require.NoError(t, err)
		stuck = true
		time.Sleep(24 * time.Hour)
		_, _, err = s.today(t.Context(), time.UTC)
		require.Error(t, err)
		stuck = false
		_, _, err = s.today(t.Context(), time.UTC)
		require.NoError(t, err)
		assert.Len(t, saltsIn(t, s.store), 1)
	})
}

// capturing is a store that records everything written to it.
type capturing struct {
	store.Store
	seen *bytes.Buffer
}

func (c capturing) Put(ctx context.Context, kind string, r store.Record) error {
	c.seen.WriteString(kind + r.ID + string(r.Data))
	return c.Store.Put(ctx, kind, r)
}

func TestAddressIsNeitherStoredNorLogged(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	s := prepare(t, Config{Store: capturing{storetest.NewReference(), &written}, Logger: textLogger(&written)})
	<-s.counted // the background reads s.store until then
	require.Equal(t, 202, s.view("192.0.2.123", firefox))
	s.store = adding{s.store, func(context.Context, store.Event) (bool, error) { return false, store.ErrClosed }}
	require.Equal(t, 503, s.view("192.0.2.123", firefox))
	for _, e := range s.stored(t) {
		assert.NotContains(t, e.URL+e.Path+e.Referrer, "192.0.2.123")
	}
	assert.NotContains(t, written.String(), "192.0.2")
	addr := netip.MustParseAddr("192.0.2.123").As4()
	assert.NotContains(t, written.String(), string(addr[:]))
	assert.NotContains(t, written.String(), firefox)
}

// scrubbing is a store that counts calls of Scrub, which fails while stuck is set.
type scrubbing struct {
	store.Store
	stuck    *atomic.Bool
	scrubbed *atomic.Int64
}

func (s scrubbing) Scrub(context.Context) error {
	if s.stuck.Load() {
		return errors.New("a report is being read")
	}
	s.scrubbed.Add(1)
	return nil
}

func TestStoreIsScrubbedAfterEachStartAndEachDayUntilItSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stuck atomic.Bool
		var scrubbed atomic.Int64
		s := prepare(t, Config{Store: scrubbing{storetest.NewReference(), &stuck, &scrubbed}})
		synctest.Wait()
		assert.EqualValues(t, 1, scrubbed.Load(), "a crash may have come between removal and scrub")
		time.Sleep(time.Hour)
		assert.EqualValues(t, 1, scrubbed.Load(), "there was nothing to scrub")

		stuck.Store(true)
		time.Sleep(24*time.Hour - time.Minute)
		require.Equal(t, 202, s.view("192.0.2.1", firefox), "events do not wait for it")
		time.Sleep(time.Hour)
		assert.EqualValues(t, 1, scrubbed.Load())
		stuck.Store(false)
		time.Sleep(choreEvery)
		synctest.Wait()
		assert.EqualValues(t, 2, scrubbed.Load())
		time.Sleep(12 * time.Hour)
		assert.EqualValues(t, 2, scrubbed.Load())
	})
}

func TestCollectorStartsAlthoughTheStoreCannotBeScrubbed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stuck atomic.Bool
		stuck.Store(true)
		s := prepare(t, Config{Store: scrubbing{storetest.NewReference(), &stuck, new(atomic.Int64)}})
		assert.Equal(t, 202, s.view("192.0.2.1", firefox))
	})
}

// busy is a store that is always read.
type busy struct{ store.Store }

func (busy) Scrub(context.Context) error { return fmt.Errorf("read: %w", store.ErrBusy) }

func TestAScrubThatAReportDelaysIsAnErrorOnlyAfterAnHour(t *testing.T) {
	t.Parallel()
	for after, logged := range map[time.Duration]bool{59 * time.Minute: false, 61 * time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s := prepare(t, Config{Store: busy{storetest.NewReference()}, Logger: textLogger(&log)})
			time.Sleep(after)
			require.NoError(t, s.Close(t.Context()))
			assert.Equal(t, logged, strings.Contains(log.String(), "daily maintenance failed"), "%v: %s", after, log.String())
			assert.Equal(t, logged, strings.Contains(log.String(), "store: busy"))
		})
	}
}

// filesWith returns the names of the files in a directory that contain text.
func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		if strings.Contains(string(data), text) {
			names = append(names, f.Name())
		}
	}
	return names
}

// TestDestroyedSaltIsInNoFile uses a real store, with the salt of a past day when the
// collector starts.
func TestDestroyedSaltIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(dir, "footfall.db")})
	require.NoError(t, err)
	salt := crand.Text() + "012345" // as long as a salt
	require.Len(t, salt, saltSize)
	require.NoError(t, st.Put(t.Context(), kindSalt, store.Record{ID: "2026-01-01", Data: []byte(salt)}))
	require.NotEmpty(t, filesWith(t, dir, salt), "else there is nothing to destroy")

	s := prepare(t, Config{Store: st})
	if _, ok := any(st).(scrubber); ok {
		require.Eventually(t, func() bool { return len(filesWith(t, dir, salt)) == 0 }, 5*time.Second, 10*time.Millisecond, "while it runs")
	} else {
		t.Log("the store has no Scrub: it is looked at after Close only")
	}
	require.Equal(t, 202, s.view("192.0.2.1", firefox))
	today := saltsIn(t, st)
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, st.Close())
	assert.Empty(t, filesWith(t, dir, salt))
	assert.Len(t, today, 1)
	for _, other := range today {
		assert.NotEmpty(t, filesWith(t, dir, other), "today's salt is kept for a restart")
	}
}
