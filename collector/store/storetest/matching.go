package storetest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/store"
)

var matching = []promise{
	{"a page pattern matches whole paths, * any characters", func(f *fixture) {
		for _, path := range []string{"/", "/blog", "/blog/", "/blog/a", "/blog/a/b", "/Blog/a", "/x/blog/a", "/shop/1/buy", "/shop//buy", "/shop/buy"} {
			f.add(pageview(at(0, 1), 1, path))
		}
		for pattern, want := range map[string]int64{
			"/": 1, "/blog": 1, "/blog/*": 3, "/blog*": 4, "*": 10, "**": 10, "/*": 10, "*/a": 3, "/shop/*/buy": 2,
			"/*/*/*": 4, "*blog*": 5, "/b*g": 1, "/blog/a/": 0, "/BLOG/*": 0, "blog": 0, "*x*x*": 0, "/blog/*a*": 2,
		} {
			assert.Equal(f, want, f.count(days(0, 1), store.Match{Page: pattern}).Count, pattern)
		}
	}},
	{"no character of a page pattern but * is special", func(f *fixture) {
		for _, path := range []string{"/a.c", "/abc", "/a%c", "/a_c", "/a[b]c", "/a+", "/aa", "/(a)", "/a?", "/a\\c", "/^a$", "/a\nc", "/{a}", "/a|b", "/ü", "/a*c", "/a'c", "/a\x00c"} {
			f.add(pageview(at(0, 1), 1, path))
		}
		for pattern, want := range map[string]int64{
			"/a.c": 1, "/a%c": 1, "/a_c": 1, "/a[b]c": 1, "/a+": 1, "/(a)": 1, "/a?": 1, "/a\\c": 1, "/^a$": 1, "/a\nc": 1, "/{a}": 1, "/a|b": 1, "/ü": 1, "/a'c": 1,
			"/%": 0, "/___": 0, "%": 0, "/?": 0, "/[a-z]*": 0, "/.*": 0, "/a*c": 10, "/*%*": 1, "/*_*": 1, "/a\x00*": 1,
		} {
			assert.Equal(f, want, f.count(days(0, 1), store.Match{Page: pattern}).Count, "%q", pattern)
		}
	}},
	{"a page pattern of many stars is no trap", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/"+strings.Repeat("a", 2000)), pageview(at(0, 2), 1, "/"+strings.Repeat("a", 1999)+"b"))
		begin := time.Now()
		assert.EqualValues(f, 1, f.count(days(0, 1), store.Match{Page: "/" + strings.Repeat("*a", 100) + "*b"}).Count)
		assert.Less(f, time.Since(begin), 10*time.Second, "not a try for each way to share the text among the stars")
	}},
	{"a visitor of several pages that match counts once a day", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/a"), pageview(at(0, 2), 1, "/b"), pageview(at(0, 3), 0, "/a"), pageview(at(1, 1), 1, "/a"), event(at(0, 4), 2, "signup"))
		assert.Equal(f, store.Row{Count: 4, Visitors: 2}, f.count(days(0, 2), store.Match{Page: "/*"}))
		assert.Equal(f, store.Row{Count: 3, Visitors: 2}, f.count(days(0, 2), store.Match{Page: "/a"}))
	}},
	{"an event matches by its exact name", func(f *fixture) {
		f.add(event(at(0, 1), 1, "signup"), event(at(0, 2), 1, "signup"), event(at(0, 3), 0, "signup"), event(at(0, 3), 2, "Signup"), event(at(0, 3), 2, "sign*"))
		assert.Equal(f, store.Row{Count: 3, Visitors: 1}, f.count(days(0, 1), store.Match{Event: "signup"}))
		assert.Equal(f, store.Row{Count: 1, Visitors: 1}, f.count(days(0, 1), store.Match{Event: "sign*"}))
		assert.Zero(f, f.count(days(0, 1), store.Match{Event: "sign%"}))
		assert.Zero(f, f.count(days(0, 1), store.Match{}))
	}},
	{"an event matches by a prop, a number by its text", func(f *fixture) {
		number := event(at(0, 1), 2, "paid")
		number.Props = []store.Prop{{Key: "x", Value: "y"}, {Key: "amount", Value: "12.50", Numeric: true}}
		f.add(number, event(at(0, 1), 1, "paid", "plan", "pro"), event(at(0, 1), 3, "paid", "plan", "pro", "amount", "12.50"), event(at(0, 2), 3, "free", "plan", "pro"), event(at(0, 2), 4, "paid"), event(at(0, 2), 0, "paid", "plan", ""))
		assert.Equal(f, store.Row{Count: 2, Visitors: 2}, f.count(days(0, 1), store.Match{Event: "paid", PropKey: "plan", PropValue: "pro"}))
		assert.Equal(f, store.Row{Count: 2, Visitors: 2}, f.count(days(0, 1), store.Match{Event: "paid", PropKey: "amount", PropValue: "12.50"}))
		assert.Equal(f, store.Row{Count: 1}, f.count(days(0, 1), store.Match{Event: "paid", PropKey: "plan"}))
		assert.Zero(f, f.count(days(0, 1), store.Match{Event: "paid", PropKey: "amount", PropValue: "12.5"}))
		assert.Zero(f, f.count(days(0, 1), store.Match{Event: "paid", PropKey: "plan", PropValue: "Pro"}))
		assert.Zero(f, f.count(days(0, 1), store.Match{Event: "paid", PropKey: "pro", PropValue: "plan"}))
	}},
	{"an empty PropValue is the empty text, and not any value", func(f *fixture) {
		empty, tagged := pageview(at(0, 3), 5, "/a"), pageview(at(0, 3), 6, "/a")
		empty.Props, tagged.Props = []store.Prop{{Key: "plan", Value: ""}}, []store.Prop{{Key: "plan", Value: "pro"}}
		f.add(event(at(0, 1), 1, "paid", "plan", ""), event(at(0, 1), 2, "paid", "plan", "pro"), event(at(0, 1), 3, "paid"), event(at(0, 1), 4, "paid", "", ""),
			event(at(0, 5), 1, "paid", "plan", ""), event(at(0, 5), 2, "paid", "plan", "pro"), empty, tagged, pageview(at(0, 3), 7, "/a"))
		without := store.Match{Event: "paid", PropKey: "plan"}
		assert.Equal(f, store.Row{Count: 2, Visitors: 1}, f.count(days(0, 1), without))
		for _, page := range []string{"/a", "/*"} {
			assert.Equal(f, store.Row{Count: 1, Visitors: 1}, f.count(days(0, 1), store.Match{Page: page, PropKey: "plan"}), page)
		}
		assert.Equal(f, store.Funnel{Steps: []store.FunnelStep{{Visitors: 1, Count: 2}, {Visitors: 1, Count: 2}}}, f.funnel(days(0, 1), without, without))
	}},
	{"without a PropKey the PropValue is not looked at", func(f *fixture) {
		f.add(event(at(0, 1), 1, "paid", "plan", "pro"), event(at(0, 1), 2, "paid", "", "pro"), event(at(0, 1), 3, "paid"), pageview(at(0, 1), 4, "/a"))
		assert.Equal(f, store.Row{Count: 3, Visitors: 3}, f.count(days(0, 1), store.Match{Event: "paid", PropValue: "pro"}))
		assert.Equal(f, store.Row{Count: 1, Visitors: 1}, f.count(days(0, 1), store.Match{Page: "/*", PropValue: "pro"}))
		assert.Zero(f, f.count(days(0, 1), store.Match{PropValue: "pro"}))
	}},
	{"a pageview matches by a prop too", func(f *fixture) {
		tagged := pageview(at(0, 1), 1, "/a")
		tagged.Props = []store.Prop{{Key: "theme", Value: "dark"}}
		f.add(tagged, pageview(at(0, 1), 2, "/a"))
		for _, pattern := range []string{"/a", "/*"} {
			assert.Equal(f, store.Row{Count: 1, Visitors: 1}, f.count(days(0, 1), store.Match{Page: pattern, PropKey: "theme", PropValue: "dark"}))
		}
	}},
}

// Steps of the funnels.
var (
	shop = store.Match{Page: "/shop*"}
	cart = store.Match{Page: "/cart"}
	paid = store.Match{Event: "paid"}
)

// taken returns the visitors of each step.
func taken(f store.Funnel) []int64 {
	var all []int64
	for _, step := range f.Steps {
		all = append(all, step.Visitors)
	}
	return all
}

var funnels = []promise{
	{"a funnel counts who took the steps in order", func(f *fixture) {
		f.add(
			pageview(at(0, 1), 1, "/shop/a"), pageview(at(0, 2), 1, "/cart"), event(at(0, 3), 1, "paid"),
			pageview(at(0, 1), 2, "/shop"), pageview(at(0, 2), 2, "/cart"),
			event(at(0, 1), 3, "paid"), pageview(at(0, 2), 3, "/cart"), pageview(at(0, 3), 3, "/shop"),
			pageview(at(0, 1), 4, "/shop"), pageview(at(0, 1), 4, "/about"), event(at(0, 2), 4, "paid"),
		)
		assert.Equal(f, store.Funnel{Steps: []store.FunnelStep{{Visitors: 4, Count: 4}, {Visitors: 2, Count: 3}, {Visitors: 1, Count: 3}}}, f.funnel(days(0, 1), shop, cart, paid))
	}},
	{"a step of a funnel comes after the one before it, not with it", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/shop"), pageview(at(0, 1), 1, "/cart"), event(at(0, 2), 1, "paid"))
		assert.Equal(f, []int64{1, 0, 0}, taken(f.funnel(days(0, 1), shop, cart, paid)))
		f.add(pageview(at(0, 1).Add(time.Millisecond), 1, "/cart"))
		assert.Equal(f, []int64{1, 1, 1}, taken(f.funnel(days(0, 1), shop, cart, paid)))
	}},
	{"a funnel ends 24 hours after its first step", func(f *fixture) {
		f.add(
			pageview(at(0, 10), 1, "/shop"), pageview(at(1, 2), 1, "/cart"), event(at(1, 10), 1, "paid"),
			pageview(at(0, 10), 2, "/shop"), pageview(at(1, 2), 2, "/cart"), event(at(1, 10).Add(time.Millisecond), 2, "paid"),
		)
		assert.Equal(f, []int64{2, 2, 1}, taken(f.funnel(days(0, 3), shop, cart, paid)))
	}},
	{"a later first step may lead where an earlier one did not", func(f *fixture) {
		f.add(
			pageview(at(0, 1), 1, "/shop"), pageview(at(0, 20), 1, "/cart"), pageview(at(0, 22), 1, "/shop"),
			pageview(at(1, 3), 1, "/cart"), event(at(1, 5), 1, "paid"),
		)
		assert.Equal(f, store.Funnel{Steps: []store.FunnelStep{{Visitors: 1, Count: 2}, {Visitors: 1, Count: 2}, {Visitors: 1, Count: 1}}}, f.funnel(days(0, 3), shop, cart, paid))
	}},
	{"a later first step does not lend its time to an earlier one", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/shop"), pageview(at(0, 20), 1, "/cart"), pageview(at(0, 22), 1, "/shop"), event(at(1, 5), 1, "paid"))
		assert.Equal(f, []int64{1, 1, 0}, taken(f.funnel(days(0, 3), shop, cart, paid)))
	}},
	{"a way over midnight goes on if the visitor has the same number on both days", func(f *fixture) {
		f.add(pageview(at(0, 23), 1, "/shop"), pageview(at(1, 1), 1, "/cart"), event(at(1, 2), 1, "paid"))
		assert.Equal(f, []int64{1, 1, 1}, taken(f.funnel(days(0, 2), shop, cart, paid)))
		assert.EqualValues(f, 2, f.totals(days(0, 2)).Visitors, "of each day")
	}},
	{"a way over midnight ends there if the visitor has another number then", func(f *fixture) {
		f.add(
			pageview(at(0, 23), 1, "/shop"), pageview(at(1, 1), 2, "/cart"), event(at(1, 2), 2, "paid"),
			pageview(at(0, 22), 3, "/shop"), pageview(at(0, 23), 3, "/cart"), pageview(at(1, 0), 4, "/shop"), event(at(1, 1), 4, "paid"),
		)
		assert.Equal(f, store.Funnel{Steps: []store.FunnelStep{{Visitors: 3, Count: 3}, {Visitors: 1, Count: 2}, {Count: 2}}}, f.funnel(days(0, 2), shop, cart, paid))
	}},
	{"a step that is repeated must be taken again", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/cart"), pageview(at(0, 2), 1, "/cart"), pageview(at(0, 1), 2, "/cart"), pageview(at(0, 3), 3, "/cart"), pageview(at(0, 3), 3, "/cart"))
		funnel := f.funnel(days(0, 1), cart, cart, cart)
		assert.Equal(f, []int64{3, 1, 0}, taken(funnel))
		assert.EqualValues(f, 5, funnel.Steps[2].Count)
	}},
	{"events without a visitor are counted, but go no way", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/shop"), event(at(0, 2), 0, "paid"), event(at(0, 3), 0, "paid"), event(at(0, 3), 0, "other"), pageview(at(0, 4), 0, "/shop/b"))
		assert.Equal(f, store.Funnel{Steps: []store.FunnelStep{{Visitors: 1, Count: 2}, {Count: 2}, {Count: 2}}, Visitorless: 3}, f.funnel(days(0, 1), shop, paid, paid))
	}},
	{"a funnel sees nothing outside its range", func(f *fixture) {
		f.add(pageview(at(0, 23), 1, "/shop"), pageview(at(1, 1), 1, "/cart"), pageview(at(1, 22), 2, "/shop"), pageview(at(2, 1), 2, "/cart"))
		assert.Equal(f, store.Funnel{Steps: []store.FunnelStep{{Visitors: 1, Count: 1}, {Count: 1}}}, f.funnel(days(1, 2), shop, cart))
		assert.Equal(f, []int64{2, 2}, taken(f.funnel(days(0, 3), shop, cart)))
	}},
	{"a funnel takes steps by prop", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/shop"), event(at(0, 2), 1, "paid", "plan", "pro"), pageview(at(0, 1), 2, "/shop"), event(at(0, 2), 2, "paid", "plan", "free"))
		assert.Equal(f, []int64{2, 1}, taken(f.funnel(days(0, 1), shop, store.Match{Event: "paid", PropKey: "plan", PropValue: "pro"})))
	}},
	{"a funnel may have eight steps", func(f *fixture) {
		var steps []store.Match
		for i := range 8 {
			name := string(rune('a' + i))
			f.add(event(at(0, 1+i), 1, name), event(at(0, 9-i), 2, name))
			steps = append(steps, store.Match{Event: name})
		}
		assert.Equal(f, []int64{2, 1, 1, 1, 1, 1, 1, 1}, taken(f.funnel(days(0, 1), steps...)))
	}},
}
