package e2e

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// furnished is a service with four sites: a shop with many events, a site whose texts are
// all hostile, a site without events, and one that only a backend sends to.
type furnished struct {
	*service
	shop, hostile, empty, backend account.Site
}

// Texts that break careless pages: one without a place for a line break, one that runs
// from right to left, and one that is markup.
var (
	longText = strings.Repeat("an_event_name_that_never_ends_", 4)
	rtlText  = "تمت_عملية_الشراء بنجاح 🛒👩🏽‍💻"
	markup   = `"'><script>alert(1)</script><img src=x onerror=alert(2)>`
)

func furnish(t testing.TB) *furnished {
	t.Helper()
	f := &furnished{}
	f.service = startService(t, func(st store.Store, a *account.Account) {
		owned(t, a)
		f.shop = addSite(t, a, "Hearth & Hollow", "shop.example.com")
		f.hostile = addSite(t, a, strings.Repeat("Donaudampfschifffahrtsgesellschaft", 3)+" "+markup[:15], strings.Repeat("long-label.", 10)+"example.com")
		f.empty = addSite(t, a, "", "quiet.example.com")
		f.backend = addSite(t, a, "Billing", "billing.example.com")
		for _, label := range []string{"checkout service", longText[:110]} {
			_, _, err := a.IssueKey(t.Context(), label)
			require.NoError(t, err)
		}
		aims(t, a, f.shop.ID)
		jokes(t, a, f.hostile.ID)
		addAll(t, st, slices.Concat(sales(f.shop), nuisance(f.hostile), orders(f.backend)))
	})
	return f
}

func addSite(t testing.TB, a *account.Account, name, domain string) account.Site {
	t.Helper()
	site, err := a.AddSite(t.Context(), name, domain)
	require.NoError(t, err)
	return site
}

// addAll adds from many goroutines, which share commits.
func addAll(t testing.TB, st store.Store, events []store.Event) {
	t.Helper()
	next := make(chan store.Event)
	var adders sync.WaitGroup
	failed := make(chan error, 64)
	for range cap(failed) {
		adders.Go(func() {
			for e := range next {
				if _, err := st.Add(context.Background(), e); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for _, e := range events {
		next <- e
	}
	close(next)
	adders.Wait()
	require.Empty(t, failed)
}

// aims adds the goals and funnels of the shop.
func aims(t testing.TB, a *account.Account, site string) {
	t.Helper()
	pro := store.Match{Event: "checkout_completed", PropKey: "plan", PropValue: "pro"}
	for _, g := range []account.Goal{
		{Name: "Looked at the price list", Match: store.Match{Page: "/pricing"}},
		{Name: "Bought the big one", Match: pro},
		{Name: "Paid, says the bank", Match: store.Match{Event: "payment_settled"}},
	} {
		g.Site = site
		_, err := a.SaveGoal(t.Context(), g)
		require.NoError(t, err)
	}
	way := []store.Match{{Page: "/"}, {Page: "/products/*"}, {Page: "/basket"}, {Event: "checkout_completed"}}
	for _, f := range []account.Funnel{{Name: "From the door to the till", Steps: way}, {Name: "The big one", Steps: []store.Match{{Page: "/pricing"}, pro}}} {
		f.Site = site
		_, err := a.SaveFunnel(t.Context(), f)
		require.NoError(t, err)
	}
}

// jokes adds goals and funnels with hostile texts.
func jokes(t testing.TB, a *account.Account, site string) {
	t.Helper()
	for _, text := range []string{longText, rtlText, markup} {
		match := store.Match{Event: text, PropKey: text, PropValue: text}
		_, err := a.SaveGoal(t.Context(), account.Goal{Site: site, Name: text, Match: match})
		require.NoError(t, err)
		steps := []store.Match{{Page: "/" + strings.Repeat("deep/", 60)}, match}
		for range 6 {
			steps = append(steps, match)
		}
		_, err = a.SaveFunnel(t.Context(), account.Funnel{Site: site, Name: text, Steps: steps})
		require.NoError(t, err)
	}
}

// sales returns thirty days of a shop, with fewer events at weekends, and a server that
// sends payments.
func sales(site account.Site) (all []store.Event) {
	pages := []string{"/", "/products/kettle", "/pricing", "/products/teapot", "/about", "/products/bellows", "/journal/how-to-lay-a-fire", "/basket", "/contact", "/products/poker"}
	sources := []string{"newsletter", "mastodon", "print", "partner"}
	referrers := []string{"", "www.google.com", "", "news.ycombinator.com", "duckduckgo.com", "", "old.reddit.com"}
	plans := []string{"pro", "basic", "basic", "team"}
	browsers, devices := []string{"Chrome", "Chrome", "Safari", "Firefox", "Edge"}, []string{"Desktop", "Mobile", "Desktop", "Mobile", "Tablet", "Mobile"}
	now := time.Now().UTC()
	for day := range 30 {
		visitors := 26 + int(14*math.Sin(float64(day)/3)) - 9*((day+1)%7/5)
		for v := range visitors {
			id := uint64(day*1000 + v + 1)
			at := now.Add(-time.Duration(day)*24*time.Hour - time.Duration(v*97)*time.Second - 2*time.Hour)
			event := func(name, path string, props ...store.Prop) store.Event {
				at = at.Add(40 * time.Second)
				return store.Event{Site: site.ID, At: at, Name: name, URL: "https://" + site.Domain + path, Path: path, Visitor: id, Props: props,
					Browser: browsers[v%len(browsers)], Device: devices[v%len(devices)]}
			}
			first := event("", "/")
			first.Referrer = referrers[v%len(referrers)]
			if v%5 == 0 {
				first.Source, first.Medium, first.Campaign = sources[v%len(sources)], "email", "autumn-"+sources[day%len(sources)]
			}
			all = append(all, first)
			for p := range v % 4 {
				all = append(all, event("", pages[(v+p*3+day)%len(pages)]))
			}
			if v%3 == 0 {
				all = append(all, event("", "/products/kettle"), event("", "/basket"), event("add_to_basket", "/basket", store.Prop{Key: "sku", Value: fmt.Sprintf("kettle-%d", v%6)}))
			}
			if v%9 == 0 {
				plan, amount := store.Prop{Key: "plan", Value: plans[v%len(plans)]}, store.Prop{Key: "amount", Value: fmt.Sprint(1999 + 500*(v%5)), Numeric: true}
				all = append(all, event("checkout_completed", "/checkout", plan, amount, store.Prop{Key: "currency", Value: "EUR"}))
				paid := event("payment_settled", "/checkout", amount)
				paid.Visitor = 0
				all = append(all, paid)
			}
		}
	}
	return all
}

// nuisance returns hostile events.
func nuisance(site account.Site) (all []store.Event) {
	now := time.Now().UTC()
	for i, text := range []string{longText, rtlText, markup, "🎉", "{{.}}", "https://example.com/?" + longText, strings.Repeat("W", 120)} {
		path := "/" + strings.Repeat("deep/", 60) + text
		for n := range 7 - i {
			e := store.Event{Site: site.ID, At: now.Add(-time.Duration(i*n) * time.Minute), URL: "https://" + site.Domain + "/x", Path: path, Visitor: uint64(i + 1)}
			e.Referrer, e.Source, e.Medium, e.Campaign = longText, text, text, text
			named := e
			named.Name, named.Visitor = text, uint64(i%2)
			named.Props = []store.Prop{{Key: text, Value: text + fmt.Sprint(n)}, {Key: longText + text, Value: ""}, {Key: "amount", Value: "123456789012345678"}}
			all = append(all, e, named)
		}
	}
	return all
}

// orders returns thirty days of a backend without pages.
func orders(site account.Site) (all []store.Event) {
	names := []string{"order_placed", "order_placed", "order_placed", "invoice_paid", "refund_issued"}
	paths, sources := []string{"/checkout", "/checkout", "/api/orders", "/renewals"}, []string{"", "newsletter", "", "partner", "mastodon"}
	now := time.Now().UTC()
	for i := range 900 {
		e := store.Event{Site: site.ID, At: now.Add(-time.Duration(i*i%43200) * time.Minute), Name: names[i%len(names)]}
		e.Path, e.Source = paths[i%len(paths)], sources[i*7%len(sources)]
		e.URL = "https://" + site.Domain + e.Path
		e.Props = []store.Prop{
			{Key: "amount", Value: fmt.Sprintf("%d.%02d", 5+i*37%400, i%100), Numeric: true},
			{Key: "plan", Value: []string{"pro", "basic", "basic", "team"}[i%4]},
			{Key: "order", Value: fmt.Sprint("A-", 10000+i)},
			{Key: "items", Value: fmt.Sprint(1 + i%5), Numeric: true},
		}
		if e.Name == "refund_issued" { // some amounts are text
			e.Props[0].Numeric = i%3 != 0
			e.Props = append(e.Props, store.Prop{Key: "currency", Value: []string{"EUR", "EUR", "JPY", "CHF"}[i%4]})
		}
		all = append(all, e)
	}
	return all
}
