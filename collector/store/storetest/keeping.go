package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

var records = []promise{
	{"records come back by ID in byte order", func(f *fixture) {
		for _, id := range []string{"b", "a", "B", "é", "a1"} {
			require.NoError(f, f.Put(f.Context(), "site", store.Record{ID: id, Data: []byte("data of " + id)}))
		}
		got, err := f.Records(f.Context(), "site")
		require.NoError(f, err)
		assert.Equal(f, []store.Record{{ID: "B", Data: []byte("data of B")}, {ID: "a", Data: []byte("data of a")}, {ID: "a1", Data: []byte("data of a1")}, {ID: "b", Data: []byte("data of b")}, {ID: "é", Data: []byte("data of é")}}, got)
	}},
	{"Put replaces a record of its kind only", func(f *fixture) {
		require.NoError(f, f.Put(f.Context(), "site", store.Record{ID: "1", Data: []byte("old")}))
		require.NoError(f, f.Put(f.Context(), "goal", store.Record{ID: "1", Data: []byte("goal")}))
		require.NoError(f, f.Put(f.Context(), "site", store.Record{ID: "1", Data: []byte{0, 255, '\''}}))
		sites, err := f.Records(f.Context(), "site")
		require.NoError(f, err)
		assert.Equal(f, []store.Record{{ID: "1", Data: []byte{0, 255, '\''}}}, sites)
		goals, err := f.Records(f.Context(), "goal")
		require.NoError(f, err)
		assert.Equal(f, []store.Record{{ID: "1", Data: []byte("goal")}}, goals)
	}},
	{"Remove removes a record, and one that is not there is no error", func(f *fixture) {
		require.NoError(f, f.Put(f.Context(), "site", store.Record{ID: "1", Data: []byte("x")}))
		require.NoError(f, f.Remove(f.Context(), "goal", "1"))
		require.NoError(f, f.Remove(f.Context(), "site", "1"))
		require.NoError(f, f.Remove(f.Context(), "site", "1"))
		sites, err := f.Records(f.Context(), "site")
		require.NoError(f, err)
		assert.Empty(f, sites)
	}},
}

var forgetting = []promise{
	{"Forget removes the events of a site before a time, and their figures", func(f *fixture) {
		other := event(at(0, 5), 9, "kept")
		other.Site = "s2"
		f.add(event(at(0, 5), 1, "old", "k", "v"), event(at(1, 5), 1, "before", "k", "v"), event(at(1, 6), 2, "since", "k", "w"), event(at(3, 0), 1, "new"), other)
		ask(f, days(0, 9))
		require.NoError(f, f.Forget(f.Context(), "s", at(1, 6)))
		assert.Equal(f, []string{"since", "new"}, names(f.export(days(0, 9))))
		assert.Equal(f, store.Totals{Visitors: 2, Events: 2}, f.totals(days(0, 9)))
		assert.Equal(f, []string{"new", "since"}, values(f.top(days(0, 9), store.Names, 9)))
		assert.Empty(f, f.props(days(0, 9), "before", 9))
		assert.Zero(f, f.series(days(0, 9), store.Day)[0].Totals)
		kept := days(0, 9)
		kept.Site = "s2"
		assert.Equal(f, []string{"kept"}, names(f.export(kept)))
	}},
	{"Forget with a zero time removes all events of a site", func(f *fixture) {
		other := pageview(at(0, 5), 9, "/")
		other.Site = "s2"
		f.add(pageview(at(0, 5), 1, "/a"), pageview(at(30, 5), 1, "/a"), other)
		ask(f, days(0, 40))
		require.NoError(f, f.Forget(f.Context(), "s", time.Time{}))
		assert.Zero(f, f.totals(days(0, 40)))
		assert.Empty(f, f.top(days(0, 40), store.Pages, 9))
		kept := days(0, 40)
		kept.Site = "s2"
		assert.EqualValues(f, 1, f.totals(kept).Pageviews)
	}},
	{"Forget keeps the keys of a site, unless its time is zero", func(f *fixture) {
		keyed := func(site string) store.Event {
			e := pageview(at(0, 5), 1, "/a")
			e.Site, e.Key = site, "k"
			return e
		}
		f.add(keyed("s"), keyed("s2"))
		require.NoError(f, f.Forget(f.Context(), "s", at(1, 0)))
		f.add(keyed("s"))
		assert.Empty(f, f.export(days(0, 1)), "it is a duplicate")
		require.NoError(f, f.Forget(f.Context(), "s", time.Time{}))
		f.add(keyed("s"), keyed("s2"))
		assert.Len(f, f.export(days(0, 1)), 1)
		kept := days(0, 1)
		kept.Site = "s2"
		assert.Len(f, f.export(kept), 1)
	}},
	{"Sites returns the sites that have events", func(f *fixture) {
		sites, err := f.Sites(f.Context())
		require.NoError(f, err)
		assert.Empty(f, sites)
		for _, site := range []string{"z", "s", "s", "\u00e9", "B"} {
			e := pageview(at(0, 5), 9, "/a")
			e.Site = site
			f.add(e)
		}
		require.NoError(f, f.Forget(f.Context(), "z", time.Time{}))
		sites, err = f.Sites(f.Context())
		require.NoError(f, err)
		assert.Equal(f, []string{"B", "s", "\u00e9"}, sites)
	}},
	{"what was forgotten can be added anew", func(f *fixture) {
		e := event(at(0, 5), 1, "signup", "plan", "pro")
		e.Referrer = "r.example"
		f.add(e)
		require.NoError(f, f.Forget(f.Context(), "s", time.Time{}))
		require.NoError(f, f.Forget(f.Context(), "s", time.Time{}))
		f.add(e)
		assert.Equal(f, []store.Event{e}, f.export(days(0, 1)))
		assert.Equal(f, []string{"signup"}, values(f.top(days(0, 1), store.Names, 9)))
	}},
	{"events come in while others are forgotten", func(f *fixture) {
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for n := range 20 {
					f.add(event(at(20, 0), uint64(i+1), string(rune('a'+n))))
					f.add(event(at(1, 0), uint64(i+1), string(rune('A'+n))))
				}
			})
		}
		callers.Go(func() {
			for range 5 {
				assert.NoError(f, f.Forget(f.Context(), "s", at(10, 0)))
			}
		})
		callers.Wait()
		require.NoError(f, f.Forget(f.Context(), "s", at(10, 0)))
		assert.Equal(f, store.Totals{Visitors: 8, Events: 160}, f.totals(days(0, 40)))
		assert.Len(f, f.top(days(0, 40), store.Names, 99), 20)
	}},
}

var closing = []promise{
	{"Close commits what Add has taken", func(f *fixture) {
		var callers sync.WaitGroup
		for range 32 {
			callers.Go(func() {
				if _, err := f.Add(f.Context(), pageview(at(0, 0), 1, "/")); err != nil {
					assert.ErrorIs(f, err, store.ErrClosed)
				}
			})
		}
		assert.NoError(f, f.Close())
		callers.Wait()
	}},
	{"every method says that the store is closed", func(f *fixture) {
		require.NoError(f, f.Close())
		for _, err := range closedErrors(f) {
			assert.ErrorIs(f, err, store.ErrClosed)
		}
	}},
	{"a backup is a new file of its owner's, or is not supported", func(f *fixture) {
		f.add(pageview(at(0, 0), 1, "/"))
		file := filepath.Join(f.TempDir(), "backup")
		err := f.Backup(f.Context(), file)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		require.NoError(f, err)
		info, err := os.Stat(file)
		require.NoError(f, err)
		assert.NotZero(f, info.Size())
		assert.Equal(f, os.FileMode(0o600), info.Mode())
		assert.Error(f, f.Backup(f.Context(), file), "a file that exists is left alone")
	}},
}

// closedErrors returns the error of each method.
func closedErrors(f *fixture) []error {
	ctx, q := f.Context(), days(0, 1)
	errs := []error{
		f.Put(ctx, "k", store.Record{}), f.Remove(ctx, "k", "i"),
		f.Forget(ctx, "s", time.Time{}), f.Backup(ctx, filepath.Join(f.TempDir(), "backup")), f.Close(),
		f.Export(ctx, q, func(store.Event) error { return nil }),
	}
	for _, call := range []func() error{
		func() error { _, err := f.Add(ctx, pageview(at(0, 0), 1, "/")); return err },
		func() error { _, err := f.Ask(ctx, q, store.Question{}); return err },
		func() error { return f.EachProp(ctx, q, func(string, bool, store.Prop) {}) },
		func() error { _, err := f.Funnel(ctx, q, []store.Match{shop, paid}); return err },
		func() error { _, err := f.Recent(ctx, q, 9); return err },
		func() error { _, err := f.Records(ctx, "k"); return err },
		func() error { _, err := f.Sites(ctx); return err },
	} {
		errs = append(errs, call())
	}
	return errs
}
