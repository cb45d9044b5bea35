package collector

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/distinct"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// attack sends events as strangers can, each with 100 props that were never sent before.
func (s *service) attack(t *testing.T, from, events int) {
	t.Helper()
	for i := range events {
		var props []string
		for n := range store.MaxProps {
			props = append(props, fmt.Sprintf(`"key %d":"v"`, (from+i)*store.MaxProps+n))
		}
		body := fmt.Sprintf(`{"s":%q,"n":"signup","u":%q,"p":{%s}}`, domain, pageURL, strings.Join(props, ","))
		require.Equal(t, http.StatusAccepted, s.browse(t, body).status)
	}
}

// report returns today's props of an event.
func (s *service) report(t *testing.T, name string) []store.PropRow {
	t.Helper()
	now := time.Now()
	all, err := storetest.Props(t.Context(), s.store, store.Query{Site: s.site.ID, From: now.AddDate(0, 0, -1), To: now.AddDate(0, 0, 1)}, name, 20)
	require.NoError(t, err)
	return all.Props
}

// rowOf returns the first row of a key.
func rowOf(rows []store.PropRow, key string) store.PropRow {
	for _, row := range rows {
		if row.Key == key {
			return row
		}
	}
	return store.PropRow{}
}

// 20,000 distinct keys of strangers leave the report of the event small, before and after a restart,
// and do not touch the props of backends.
func TestDistinctPropsOfStrangersAreBounded(t *testing.T) {
	if rest := time.Until(time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)); rest < 30*time.Second {
		time.Sleep(rest) // the bounds hold for one day
	}
	file := filepath.Join(t.TempDir(), "footfall.db")
	var log bytes.Buffer
	start := func() (s *service, end func()) {
		st, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
		require.NoError(t, err)
		s = prepare(t, Config{Store: st, Logger: slog.New(slog.NewTextHandler(&log, nil)), BrowserBurst: 1000})
		<-s.counted
		return s, sync.OnceFunc(func() {
			require.NoError(t, s.Close(context.Background()))
			require.NoError(t, st.Close())
		})
	}
	const events = 100 // with 10,000 keys
	for round := range 2 {
		s, end := start()
		defer end()
		stop := s.listen(t)
		s.attack(t, round*events, events)
		for range 3 {
			require.Equal(t, http.StatusAccepted, s.api(t, "POST", "/v1/events", s.event("signup", pageURL, `{"plan":"pro"}`)).status)
		}
		rows := s.report(t, "signup")
		assert.Len(t, rows, store.MaxReportKeys+1)
		assert.Equal(t, distinct.MaxKeys+2-store.MaxReportKeys, rows[len(rows)-1].Rest, "with plan and the others")
		assert.Equal(t, int64(3*(round+1)), rowOf(rows, "plan").Count)
		others := rowOf(rows, store.Other)
		assert.Equal(t, store.Other, others.Value)
		assert.Equal(t, int64((round+1)*events-2), others.Count, "the first two events had the first 200 keys")
		assert.Less(t, allocated(func() { s.report(t, "signup") }), uint64(4<<20))
		require.NoError(t, stop())
		end()
	}
	assert.Equal(t, 2, strings.Count(log.String(), "too many distinct names, pages, sources or props"), "once after each start:\n%s", &log)
}

// 1,100 distinct names of strangers leave one table of 1,000 names, before and after a restart. Names
// of backends, and names that are known, are stored as they were sent.
func TestDistinctNamesOfStrangersAreBounded(t *testing.T) {
	if rest := time.Until(time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)); rest < 30*time.Second {
		time.Sleep(rest) // the bounds hold for one day
	}
	file := filepath.Join(t.TempDir(), "footfall.db")
	var log bytes.Buffer
	names := func(from, to int, backend string) map[string]int64 {
		st, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
		require.NoError(t, err)
		s := prepare(t, Config{Store: st, Logger: slog.New(slog.NewTextHandler(&log, nil)), BrowserBurst: 2000})
		<-s.counted
		defer func() {
			require.NoError(t, s.Close(context.Background()))
			require.NoError(t, st.Close())
		}()
		stop := s.listen(t)
		for i := from; i < to; i++ {
			require.Equal(t, http.StatusAccepted, s.browse(t, fmt.Sprintf(`{"s":%q,"n":"name %d","u":%q}`, domain, i, pageURL)).status)
		}
		require.Equal(t, http.StatusAccepted, s.api(t, "POST", "/v1/events", s.event(backend, pageURL, `{}`)).status)
		require.NoError(t, stop())
		rows, err := storetest.Top(t.Context(), st, store.Query{Site: s.site.ID, From: time.Now().AddDate(0, 0, -1), To: time.Now().AddDate(0, 0, 1)}, store.Names, 5000)
		require.NoError(t, err)
		counts := make(map[string]int64)
		for _, row := range rows {
			counts[row.Value] = row.Count
		}
		return counts
	}
	first := names(0, distinct.MaxNames+50, "backend 1")
	assert.Len(t, first, distinct.MaxNames+2, "with (other) and the backend's")
	assert.Equal(t, int64(50), first[store.Other])
	second := names(distinct.MaxNames-10, distinct.MaxNames+50, "backend 2")
	assert.Len(t, second, distinct.MaxNames+3)
	assert.Equal(t, int64(100), second[store.Other])
	assert.Equal(t, int64(2), second[fmt.Sprint("name ", distinct.MaxNames-1)], "a known name")
	assert.Equal(t, int64(1), second["backend 2"])
	assert.Equal(t, 2, strings.Count(log.String(), "too many distinct names, pages, sources or props"), "once after each start:\n%s", &log)
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Four slow reports hold all readers of the store. Neither events nor the health check need one.
func TestSlowReportsDoNotStopEventsOrHealth(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "footfall.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	s := serve(t, Config{Store: st})
	send := func() int {
		return s.api(t, "POST", "/v1/events", s.event("signup", pageURL, `{"plan":"pro"}`)).status
	}
	require.Equal(t, http.StatusAccepted, send())

	q := store.Query{Site: s.site.ID, From: time.Now().AddDate(0, 0, -1), To: time.Now().AddDate(0, 0, 1)}
	var reports sync.WaitGroup
	release, holding := make(chan struct{}), make(chan struct{})
	for range 8 {
		reports.Go(func() {
			assert.NoError(t, st.EachProp(context.Background(), q, func(string, bool, store.Prop) {
				holding <- struct{}{}
				<-release
			}))
		})
	}
	for range 4 { // as many as there are readers
		<-holding
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = storetest.Totals(ctx, st, q)
	require.ErrorIs(t, err, context.DeadlineExceeded, "no reader is left")
	for range 3 {
		assert.Equal(t, http.StatusAccepted, send())
		assert.Equal(t, http.StatusOK, s.do(t, "GET", "/healthz", "").status)
		assert.Equal(t, http.StatusOK, s.api(t, "GET", "/v1/sites", "").status)
		s.health.last.Store(nil) // check again
	}
	close(release)
	for range 4 {
		<-holding
	}
	reports.Wait()
}

// counting is a store that takes long to say which texts and props the events have.
type counting struct {
	store.Store
	counted chan struct{}
}

func (c counting) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	<-c.counted
	return c.Store.Ask(ctx, q, questions...)
}

func (c counting) EachProp(ctx context.Context, q store.Query, each func(name string, visitor bool, p store.Prop)) error {
	<-c.counted
	return c.Store.EachProp(ctx, q, each)
}

func TestAServiceAnswersBeforeItHasCountedTheTextsOfTheDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		before := prepare(t, Config{Store: st, BrowserBurst: 2000})
		browse := func(s *service, name string) {
			r := httptest.NewRequest("POST", "/e", strings.NewReader(fmt.Sprintf(`{"s":%q,"n":%q,"u":%q}`, domain, name, pageURL)))
			r.Header = http.Header{"Content-Type": {"text/plain"}, "User-Agent": {firefox}}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			require.Equal(t, 202, w.Code, w.Body.String())
		}
		for i := range distinct.MaxNames {
			browse(before, fmt.Sprint("name ", i))
		}
		slow := counting{st, make(chan struct{})}
		s := prepare(t, Config{Store: slow})
		browse(s, "name 0")
		assert.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		for _, path := range []string{"/livez", "/healthz", "/login"} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			assert.Equal(t, 200, w.Code, path)
		}
		close(slow.counted)
		synctest.Wait()
		browse(s, "one too many")
		names := make(map[string]int)
		for _, e := range s.stored(t) {
			names[e.Name]++
		}
		assert.Equal(t, 1, names[store.Other])
		assert.Zero(t, names["one too many"])
	})
}

// behind is a store that computes figures until it is told that it is done.
type behind struct {
	counting
	done *atomic.Bool
}

func (b behind) Backlog() (store.Backlog, bool) { return store.Backlog{}, !b.done.Load() }

func TestTheTextsOfTheDayAreCountedWhenTheStoreHasItsFigures(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		doneAfter, want time.Duration
	}{
		"soon":  {9500 * time.Millisecond, 10 * time.Second},
		"never": {time.Hour, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			st := storetest.NewReference()
			prepare(t, Config{Store: st}) // adds a site
			var done atomic.Bool
			time.AfterFunc(row.doneAfter, func() { done.Store(true) })
			counted := make(chan struct{})
			close(counted)
			began := time.Now()
			s := prepare(t, Config{Store: behind{counting{st, counted}, &done}})
			<-s.counted
			assert.Equal(t, row.want, time.Since(began), name)
		})
	}
}
