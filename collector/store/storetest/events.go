package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// hostile are texts that an implementation might interpret.
var hostile = []string{
	"'; DROP TABLE event; --", `"\"`, "%", "_", "a%b_c", "\x00", "nul\x00inside", "\xff\xfe not UTF-8",
	"<script>alert(1)</script>", "{{.}}", "line\nbreak\r\n", " ", "  spaces  ", "ünï💩", "NULL", "0", "-1e309", ".*", "[a-z]+", "$1", "*",
}

var adding = []promise{
	{"an event comes back as it was added", func(f *fixture) {
		e := store.Event{
			Site: "s", At: at(1, 2).Add(3456789 * time.Nanosecond), Name: "checkout", URL: "HTTPS://S.example:8443/a%20b?q=1#x",
			Path: "/a b", Referrer: "r.example", Source: "news", Medium: "mail", Campaign: "spring", Browser: "Firefox", Device: "Tablet", Visitor: 1<<64 - 1, Key: "k",
			Props: []store.Prop{{Key: "z", Value: "1"}, {Key: "a", Value: "1.50", Numeric: true}, {Key: "", Value: ""}},
		}
		f.add(e)
		e.At, e.Key = at(1, 2).Add(3*time.Millisecond), ""
		assert.Equal(f, []store.Event{e}, f.export(days(0, 2)))
		assert.Equal(f, []store.Event{e}, f.recent(days(0, 2), 1))
	}},
	{"hostile text comes back as it was added", func(f *fixture) {
		var want []store.Event
		for i, text := range hostile {
			e := pageview(at(0, 0).Add(time.Duration(i)*time.Second), 1, "/"+text)
			e.Name, e.Referrer, e.Source, e.Medium, e.Campaign, e.Browser, e.Device, e.URL = text, text, text, text, text, text, text, text
			e.Props = []store.Prop{{Key: text, Value: text}}
			want = append(want, e)
		}
		f.add(want...)
		assert.Equal(f, want, f.export(days(0, 1)))
	}},
	{"an event at every limit comes back as it was added", func(f *fixture) {
		long := func(n int) string { return string(slices.Repeat([]byte("x"), n)) }
		e := event(at(0, 1), 1, long(store.MaxName))
		e.URL, e.Path = "http://"+long(store.MaxURL-7), "/"+long(store.MaxURL-8)
		for i := range store.MaxProps {
			e.Props = append(e.Props, store.Prop{Key: fmt.Sprintf("%03d", i) + long(store.MaxPropKey-3), Value: long(store.MaxPropText)})
		}
		f.add(e)
		assert.Equal(f, []store.Event{e}, f.export(days(0, 1)))
	}},
	{"a time zone is no part of a time", func(f *fixture) {
		zone := time.FixedZone("east", 5*3600)
		f.add(pageview(at(1, 3).In(zone), 1, "/"))
		assert.Equal(f, at(1, 3), f.recent(days(0, 2), 1)[0].At)
		q := store.Query{Site: "s", From: at(1, 3).In(zone), To: at(1, 4).In(zone)}
		assert.EqualValues(f, 1, f.totals(q).Pageviews)
	}},
	{"events added at once are all there", func(f *fixture) {
		var callers sync.WaitGroup
		for caller := range 16 {
			callers.Go(func() {
				for i := range 25 {
					f.add(event(at(0, i%24), uint64(caller+1), fmt.Sprint(caller, i)))
				}
			})
		}
		callers.Wait()
		assert.Equal(f, store.Totals{Visitors: 16, Events: 400}, f.totals(days(0, 1)))
		assert.Len(f, f.top(days(0, 1), store.Names, 1000), 400)
	}},
	{"a report sees what has been added just before it", func(f *fixture) {
		for i := range int64(50) {
			f.add(pageview(at(3, 0), 1, "/"))
			require.Equal(f, i+1, f.totals(days(0, 5)).Pageviews)
		}
	}},
	{"a context that has ended ends a call", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.Context())
		cancel()
		_, err := f.Add(ctx, pageview(at(0, 0), 1, "/"))
		assert.ErrorIs(f, err, context.Canceled)
		_, err = f.Ask(ctx, days(0, 1), store.Question{})
		assert.ErrorIs(f, err, context.Canceled)
		assert.ErrorIs(f, f.Export(ctx, days(0, 1), func(store.Event) error { return nil }), context.Canceled)
		assert.ErrorIs(f, f.Put(ctx, "k", store.Record{ID: "i"}), context.Canceled)
		assert.ErrorIs(f, f.Forget(ctx, "s", time.Time{}), context.Canceled)
	}},
}

var duplicates = []promise{
	{"a key counts once", func(f *fixture) {
		f.add(keyed("s", "k"), keyed("s", "k"))
		f.clock.add(store.DuplicateFor - time.Second)
		f.add(keyed("s", "k"))
		assert.EqualValues(f, 1, f.totals(days(0, 1)).Events)
	}},
	{"a key counts once when its events come at the same time", func(f *fixture) {
		var callers sync.WaitGroup
		for i := range 64 {
			callers.Go(func() { f.add(keyed("s", fmt.Sprint("k", i%4))) })
		}
		callers.Wait()
		assert.EqualValues(f, 4, f.totals(days(0, 1)).Events)
	}},
	{"Add says whether it added the event", func(f *fixture) {
		add := func(e store.Event) bool {
			added, err := f.Add(f.Context(), e)
			assert.NoError(f, err)
			return added
		}
		assert.True(f, add(keyed("s", "k")))
		assert.False(f, add(keyed("s", "k")))
		assert.True(f, add(keyed("s2", "k")))
		assert.True(f, add(pageview(at(0, 0), 1, "/")))
		assert.True(f, add(pageview(at(0, 0), 1, "/")))
		f.clock.add(store.DuplicateFor)
		assert.True(f, add(keyed("s", "k")))
		var callers sync.WaitGroup
		var added atomic.Int64
		for i := range 64 {
			callers.Go(func() {
				if add(keyed("s3", fmt.Sprint("k", i%4))) {
					added.Add(1)
				}
			})
		}
		callers.Wait()
		assert.EqualValues(f, 4, added.Load())
	}},
	{"a key of another site is another key", func(f *fixture) {
		f.add(keyed("s", "k"), keyed("s2", "k"))
		assert.EqualValues(f, 1, f.totals(days(0, 1)).Events)
		other := days(0, 1)
		other.Site = "s2"
		assert.EqualValues(f, 1, f.totals(other).Events)
	}},
	{"a key that differs at all is another key", func(f *fixture) {
		f.add(keyed("s", "k"), keyed("s", "K"), keyed("s", "k "), keyed("s", "k\x00"), keyed("s", "k\x00l"), keyed("s", "%"))
		assert.EqualValues(f, 6, f.totals(days(0, 1)).Events)
	}},
	{"a key counts again when it has been forgotten", func(f *fixture) {
		f.add(keyed("s", "k"))
		f.clock.add(store.DuplicateFor + time.Second)
		f.add(keyed("s", "k"), keyed("s", "k"))
		assert.EqualValues(f, 2, f.totals(days(0, 1)).Events)
	}},
	{"events without a key are no duplicates", func(f *fixture) {
		f.add(keyed("s", ""), keyed("s", ""))
		assert.EqualValues(f, 2, f.totals(days(0, 1)).Events)
	}},
}

func keyed(site, key string) store.Event {
	e := event(at(0, 5), 0, "paid")
	e.Site, e.Key = site, key
	return e
}

var reading = []promise{
	{"the newest events come first in Recent, and of equal time the one added last", func(f *fixture) {
		f.add(event(at(2, 0), 0, "c"), event(at(1, 0), 0, "a"), event(at(2, 0), 0, "d"), event(at(1, 5), 0, "b"))
		assert.Equal(f, []string{"d", "c", "b", "a"}, names(f.recent(days(0, 3), 9)))
		assert.Equal(f, []string{"d", "c"}, names(f.recent(days(0, 3), 2)))
		assert.Equal(f, []string{"b", "a"}, names(f.recent(days(0, 2), 2)))
		assert.Empty(f, f.recent(days(0, 3), 0))
		assert.Empty(f, f.recent(days(3, 4), 5))
	}},
	{"the oldest events come first in Export, and of equal time the one added first", func(f *fixture) {
		f.add(event(at(2, 0), 0, "c"), event(at(1, 0), 0, "a"), event(at(2, 0), 0, "d"), event(at(1, 5), 0, "b"))
		assert.Equal(f, []string{"a", "b", "c", "d"}, names(f.export(days(0, 3))))
		assert.Equal(f, []string{"a", "b"}, names(f.export(days(0, 2))))
	}},
	{"an error of the callback ends Export and is returned", func(f *fixture) {
		f.add(event(at(0, 0), 0, "a"), event(at(0, 1), 0, "b"))
		enough, calls := errors.New("enough"), 0
		err := f.Export(f.Context(), days(0, 1), func(store.Event) error { calls++; return enough })
		assert.ErrorIs(f, err, enough)
		assert.Equal(f, 1, calls)
	}},
	{"the callback of Export may add and ask", func(f *fixture) {
		f.add(event(at(0, 0), 0, "a"), event(at(0, 1), 0, "b"))
		assert.NoError(f, f.Export(f.Context(), days(0, 1), func(store.Event) error {
			f.add(event(at(5, 0), 0, "more"))
			f.totals(days(0, 9))
			return nil
		}))
		assert.EqualValues(f, 4, f.totals(days(0, 9)).Events)
	}},
	{"an export of many events equals the one of the reference while others are added", func(f *fixture) {
		rng := rand.New(rand.NewPCG(4, 0))
		ref := NewReference()
		kept := make(map[string]bool)
		for i, e := range RandomEvents(rng, 1500, at(0, 0), at(0, 0).Add(3*time.Millisecond)) { // so most share their time
			e.Key, e.URL = "", e.URL+fmt.Sprint("&n=", i)
			kept[e.URL] = true
			f.add(e)
			Add(f, ref, e)
		}
		for _, q := range []store.Query{days(0, 1), {Site: "s", From: at(0, 0).Add(time.Millisecond), To: at(0, 0).Add(2 * time.Millisecond)}} {
			want, err := exported(f.Context(), ref, q)
			require.NoError(f, err)
			var got []store.Event
			calls := 0
			require.NoError(f, f.Export(f.Context(), q, func(e store.Event) error {
				if calls++; calls%100 == 0 {
					f.add(RandomEvents(rng, 1, at(0, 0), at(0, 0).Add(3*time.Millisecond))...)
				}
				if kept[e.URL] {
					got = append(got, e)
				}
				return nil
			}))
			require.Equal(f, want, got)
		}
	}},
	{"events of another site are not seen", func(f *fixture) {
		other := pageview(at(0, 0), 7, "/other")
		other.Site = "S"
		f.add(pageview(at(0, 0), 1, "/"), other)
		assert.Equal(f, store.Totals{Visitors: 1, Pageviews: 1}, f.totals(days(0, 1)))
		assert.Len(f, f.export(days(0, 1)), 1)
		assert.Equal(f, []store.Row{{Value: "/", Count: 1, Visitors: 1}}, f.top(days(0, 1), store.Pages, 9))
	}},
	{"a site without events has figures of zero", func(f *fixture) {
		assert.Zero(f, f.totals(days(0, 9)))
		assert.Empty(f, f.top(days(0, 9), store.Pages, 9))
		assert.Empty(f, f.props(days(0, 9), "x", 9))
		assert.Zero(f, f.count(days(0, 9), store.Match{Page: "*"}))
		assert.Equal(f, store.Funnel{Steps: make([]store.FunnelStep, 2)}, f.funnel(days(0, 9), store.Match{Page: "*"}, store.Match{Page: "/"}))
		assert.Empty(f, f.export(days(0, 9)))
	}},
}

func names(events []store.Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.Name)
	}
	return all
}
