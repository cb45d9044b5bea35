package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// page is a page of the dashboard in one of its states.
type page struct {
	name   string
	path   string // "" where it is the answer to a form, which get sends
	get    func(*browser, *service)
	status int // 0 is 200
	signed bool
}

// pages lists all pages, for tests of every page. TestEveryPage also follows their links and
// forms, and fails if a page is missing from this list.
func pages(f *furnished) []page {
	signed := slices.Concat(ownPages(), reportPages(f), liveAndGoalPages(f), funnelPages(f), settingPages(f), errorPages())
	for i := range signed {
		signed[i].signed = true
	}
	return append([]page{
		{name: "login", path: "/login"},
		{name: "login-refused", get: submitted("/login", "Sign in", "password", "wrong"), status: http.StatusUnauthorized},
		{name: "setup-done", path: "/setup?token=x"},
	}, signed...)
}

// ownPages are the pages that belong to no site.
func ownPages() []page {
	return []page{
		{name: "sites", path: "/"},
		{name: "sites-7-days", path: "/?days=7"},
		{name: "site-new", path: "/sites/new"},
		{name: "site-new-refused", get: submitted("/sites/new", "Add the site", "domain", "no domain"), status: http.StatusUnprocessableEntity},
		{name: "keys", path: "/keys"},
		{name: "keys-refused", get: submitted("/keys", "Issue a key", "label", strings.Repeat("too long ", 20)), status: http.StatusUnprocessableEntity},
		{name: "key-issued", get: submitted("/keys", "Issue a key", "label", "a key that was just issued")},
		{name: "password", path: "/password"},
		{name: "password-refused", get: submitted("/password", "Change the password", "old", "wrong"), status: http.StatusUnprocessableEntity},
		{name: "not-found", path: "/nothing/here", status: http.StatusNotFound},
	}
}

// reportPages are the figures of sites.
func reportPages(f *furnished) []page {
	shop, hostile, empty, backend := "/sites/"+f.shop.ID, "/sites/"+f.hostile.ID, "/sites/"+f.empty.ID, "/sites/"+f.backend.ID
	event := func(name string) string { return "/events?range=30d&" + url.Values{"name": {name}}.Encode() }
	return []page{
		{name: "overview", path: shop},
		{name: "overview-today", path: shop + "?range=today"},
		{name: "overview-12-months", path: shop + "?range=12m"},
		{name: "overview-compared", path: shop + "?range=7d&compare=previous"},
		{name: "overview-year-by-week", path: shop + "?range=year&by=week&compare=year&weekdays=1"},
		{name: "overview-all-time", path: shop + "?range=all&by=month"},
		{name: "overview-bad-range", path: shop + "?range=custom&from=x&to=y", status: http.StatusUnprocessableEntity},
		{name: "overview-unknown-range", path: shop + "?range=banana", status: http.StatusUnprocessableEntity},
		{name: "overview-hostile", path: hostile},
		{name: "overview-empty", path: empty},
		{name: "overview-backend", path: backend},
		{name: "overview-counting-events", path: shop + "?events=pages,sources"},
		{name: "overview-nothing", path: backend + "?range=custom&from=2020-01-01&to=2020-01-02"},
		{name: "overview-filtered", path: shop + "?is_not=device:Mobile&contains=page:/&is=goal:" + f.account.Goals(f.shop.ID)[0].ID},
		{name: "overview-filtered-hostile", path: hostile + "?" + url.Values{"is": {"page:" + longText, "prop:" + markup + ":" + markup}}.Encode()},
		{name: "overview-bad-filter", path: shop + "?is=colour:red", status: http.StatusUnprocessableEntity},
		{name: "event-filtered", path: shop + event("checkout_completed") + "&is_not=source:ads"},
		{name: "top-browsers", path: shop + "/top/browsers"},
		{name: "top-devices", path: shop + "/top/devices"},
		{name: "top-event-pages", path: backend + "/top/event-pages"},
		{name: "top-event-sources", path: backend + "/top/event-sources"},
		{name: "top-event-mediums", path: shop + "/top/event-mediums"},
		{name: "top-event-campaigns", path: shop + "/top/event-campaigns"},
		{name: "event-backend", path: backend + event("order_placed")},
		{name: "event-other-sums", path: backend + event("order_placed") + "&sum=items"},
		{name: "event-currencies", path: backend + event("refund_issued")},
		{name: "top-pages", path: shop + "/top/pages"},
		{name: "top-referrers", path: shop + "/top/referrers"},
		{name: "top-names", path: shop + "/top/names"},
		{name: "top-sources", path: shop + "/top/sources"},
		{name: "top-mediums", path: shop + "/top/mediums"},
		{name: "top-campaigns", path: shop + "/top/campaigns"},
		{name: "top-hostile", path: hostile + "/top/pages"},
		{name: "top-empty", path: empty + "/top/campaigns"},
		{name: "events", path: shop + "/events"},
		{name: "events-hostile", path: hostile + "/events"},
		{name: "event", path: shop + event("checkout_completed")},
		{name: "event-hostile", path: hostile + event(longText)},
		{name: "event-markup", path: hostile + event(markup)},
		{name: "event-none", path: empty + event("never")},
	}
}

func liveAndGoalPages(f *furnished) []page {
	shop, hostile, empty := "/sites/"+f.shop.ID, "/sites/"+f.hostile.ID, "/sites/"+f.empty.ID
	return []page{
		{name: "live", path: shop + "/live"},
		{name: "live-hostile", path: hostile + "/live"},
		{name: "live-empty", path: empty + "/live"},
		{name: "goals", path: shop + "/goals"},
		{name: "goals-hostile", path: hostile + "/goals"},
		{name: "goals-empty", path: empty + "/goals"},
		{name: "goal-new", path: shop + "/goals/new"},
		{name: "goal-refused", get: submitted(shop+"/goals/new", "Save", "name", "Nothing reaches it"), status: http.StatusUnprocessableEntity},
		{name: "goal-edit", path: shop + "/goals/" + f.account.Goals(f.shop.ID)[0].ID},
		{name: "goal-edit-hostile", path: hostile + "/goals/" + f.account.Goals(f.hostile.ID)[0].ID},
	}
}

func funnelPages(f *furnished) []page {
	shop, hostile, empty := "/sites/"+f.shop.ID, "/sites/"+f.hostile.ID, "/sites/"+f.empty.ID
	funnel, bad := shop+"/funnels/"+f.account.Funnels(f.shop.ID)[0].ID, hostile+"/funnels/"+f.account.Funnels(f.hostile.ID)[0].ID
	return []page{
		{name: "funnels", path: shop + "/funnels"},
		{name: "funnels-hostile", path: hostile + "/funnels"},
		{name: "funnels-empty", path: empty + "/funnels"},
		{name: "funnel", path: funnel},
		{name: "funnel-hostile", path: bad},
		{name: "funnel-new", path: shop + "/funnels/new"},
		{name: "funnel-refused", get: submitted(shop+"/funnels/new", "Save", "name", "Too short"), status: http.StatusUnprocessableEntity},
		{name: "funnel-edit", path: funnel + "/edit"},
		{name: "funnel-edit-hostile", path: bad + "/edit"},
	}
}

func settingPages(f *furnished) []page {
	shop, hostile := "/sites/"+f.shop.ID, "/sites/"+f.hostile.ID
	return []page{
		{name: "settings", path: shop + "/settings?done=saved"},
		{name: "settings-hostile", path: hostile + "/settings"},
		{name: "settings-refused", get: submitted(shop+"/settings", "Save", "domain", "no domain"), status: http.StatusUnprocessableEntity},
		{name: "delete", path: shop + "/delete"},
		{name: "delete-hostile", path: hostile + "/delete"},
		{name: "delete-refused", get: submitted(shop+"/delete", "Delete for good", "domain", "another.example.com"), status: http.StatusUnprocessableEntity},
	}
}

// submitted is the page that answers a form with one field filled in.
func submitted(path, button, field, text string) func(*browser, *service) {
	return func(b *browser, s *service) {
		b.open(s.url + path)
		b.refill(field, text)
		b.press(button)
	}
}

// exports are the links to downloads.
var exports = append([]string{"/sites/*/export.csv", "/sites/*/export.json"}, tableFiles()...)

// tableFiles are the links to tables as files.
func tableFiles() (all []string) {
	for _, slug := range []string{"pages", "referrers", "names", "sources", "mediums", "campaigns", "browsers", "devices", "event-pages", "event-sources"} {
		all = append(all, "/sites/*/top/"+slug+".csv")
	}
	return all
}

// changes are the forms that lead to another page if they are accepted. A test in
// clicks_test.go sends each of them.
var changes = []string{
	"/setup", "/login", "/logout", "/password", "/sites/new", "/keys", "/keys/*/rotate", "/keys/*/revoke",
	"/sites/*/settings", "/sites/*/delete",
	"/sites/*/goals/new", "/sites/*/goals/*", "/sites/*/goals/*/delete",
	"/sites/*/funnels/new", "/sites/*/funnels/*/edit", "/sites/*/funnels/*/delete",
}

// show opens the page. The console's message about a status other than 200 does not count
// as a complaint.
func (p page) show(b *browser, s *service) {
	b.t.Helper()
	if p.path != "" {
		b.open(s.url + p.path)
	} else {
		p.get(b, s)
	}
	want := p.status
	if want == 0 {
		want = http.StatusOK
	}
	require.Equal(b.t, want, eval[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`), p.name)
	if want != http.StatusOK {
		b.console.expect("the server responded with a status of " + strconv.Itoa(want))
	}
}

// firstPages are the pages of a new collector.
func firstPages(s *service) []page {
	return []page{
		{name: "login-not-ready", path: "/login"},
		{name: "setup", path: strings.TrimPrefix(s.setup, s.url)},
		{name: "setup-refused", get: func(b *browser, s *service) {
			b.open(s.setup)
			b.fill("password", "short")
			b.press("Set the password")
		}, status: http.StatusUnprocessableEntity},
		{name: "setup-wrong-link", get: submitted("/setup?token=wrong", "Set the password", "password", password), status: http.StatusForbidden},
		{name: "sites-none", get: func(b *browser, s *service) {
			b.open(s.setup)
			b.fill("password", password)
			b.press("Set the password")
		}},
		{name: "keys-none", path: "/keys"},
	}
}

// eachPage visits all pages.
func eachPage(t *testing.T, visit func(*browser, page)) {
	t.Helper()
	b := openBrowser(t)
	see := func(s *service, p page) {
		p.show(b, s)
		visit(b, p)
	}
	first := startService(t, nil)
	for _, p := range firstPages(first) {
		see(first, p)
	}
	f := furnish(t)
	for _, p := range pages(f) {
		if p.signed && !strings.Contains(eval[string](b, "document.body.innerText"), "Sign out") {
			b.signInTo(f.service)
		}
		see(f.service, p)
	}
}

func (b *browser) signInTo(s *service) {
	b.t.Helper()
	b.open(s.url + "/login")
	b.fill("password", password)
	b.press("Sign in")
}

// ids matches the ids in addresses.
var ids = regexp.MustCompile(`/(sites|goals|funnels|keys)/([^/?]+)`)

// kind is an address with ids and queries left out: the same for all pages of a kind.
func kind(address string) string {
	path, _, _ := strings.Cut(address, "?")
	return ids.ReplaceAllStringFunc(path, func(part string) string {
		if strings.HasSuffix(part, "/new") {
			return part
		}
		return part[:strings.LastIndexByte(part, '/')] + "/*"
	})
}

// crawl gathers where links and forms lead.
type crawl struct{ listed, linked, sent map[string]bool }

func newCrawl() crawl {
	c := crawl{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, path := range exports {
		c.listed[path] = true
	}
	return c
}

func (c crawl) add(b *browser, p page) {
	b.t.Helper()
	c.listed[kind(p.path)] = true
	for _, path := range eval[[]string](b, `[...document.querySelectorAll("a[href], form[method=get], form:not([method])")].map(e => new URL(e.getAttribute("href") || e.action, location.href).pathname)`) {
		c.linked[kind(path)] = true
	}
	for _, path := range eval[[]string](b, `[...document.querySelectorAll("form[method=post]")].map(e => new URL(e.action).pathname)`) {
		c.sent[kind(path)] = true
	}
}

func (c crawl) check(t *testing.T) {
	for path := range c.linked {
		assert.True(t, c.listed[path], "a link leads to %s, which is not in the list of pages", path)
	}
	for path := range c.sent {
		assert.Contains(t, changes, path, "a form leads there")
	}
	for _, path := range changes {
		assert.True(t, c.sent[path], "no form leads to %s", path)
	}
}
