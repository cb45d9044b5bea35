package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// nasty is hostile text for any field of an event.
const nasty = `"'><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}`

// furnish adds a site with one of everything, all with nasty texts.
func (f *fixture) furnish() account.Site {
	f.t.Helper()
	ctx := f.t.Context()
	site := f.site(nasty, "shop.example.com")
	f.site("quiet", "quiet.example.com")
	for i := range 12 { // more than fit in a table of the overview
		suffix := fmt.Sprint(i)
		e := viewed(site.ID, "/"+nasty+suffix, noon.Add(-time.Hour), uint64(i+1))
		e.Referrer, e.Source, e.Medium, e.Campaign = nasty+suffix, nasty+suffix, nasty+suffix, nasty+suffix
		f.add(e, happened(site.ID, nasty+suffix, noon.Add(-time.Minute), 0, nasty, nasty+suffix))
	}
	_, _, err := f.account.IssueKey(ctx, nasty)
	require.NoError(f.t, err)
	match := store.Match{Event: nasty + "0", PropKey: nasty, PropValue: nasty + "0"}
	_, err = f.account.SaveGoal(ctx, account.Goal{Site: site.ID, Name: nasty, Match: match})
	require.NoError(f.t, err)
	_, err = f.account.SaveFunnel(ctx, account.Funnel{Site: site.ID, Name: nasty, Steps: []store.Match{{Page: "/" + nasty}, match}})
	require.NoError(f.t, err)
	return site
}

var tagLink = regexp.MustCompile(`<(?:a|link|script|img)\b[^>]*\b(?:href|src)="([^"]*)"`)

// scopeKind returns the page of a link with the fields and operators of its conditions, and whether it has typed days; ""
// for a link without any of them.
func scopeKind(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	kind := []string{u.Path}
	for _, t := range readFilterOf(u) {
		kind = append(kind, string(t.op), strings.TrimRight(t.field, "%0123456789ABCDEF"))
	}
	if u.Query().Has("from") {
		kind = append(kind, "days")
	}
	if len(kind) == 1 {
		return ""
	}
	return strings.Join(kind, " ")
}

func readFilterOf(u *url.URL) filter {
	f, _ := readFilter(u.Query())
	return f
}

// walk visits every linked page once, starting at the first. Of pages that differ only in their days or the values of their
// conditions it visits one, and it adds no second condition.
func (b *browser) walk(visit func(answer)) (paths []string) {
	b.t.Helper()
	seen := map[string]bool{}
	next := []string{"/", "/setup?token=x", "/login", "/nothing", "/sites/none"}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		if seen[path] || path[0] != '/' {
			continue
		}
		require.Less(b.t, len(paths), 500, "the walk does not end")
		seen[path] = true
		paths = append(paths, path)
		a := b.get(path)
		if location := a.header.Get("Location"); location != "" {
			next = append(next, location)
		} else if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			visit(a)
			for _, link := range tagLink.FindAllStringSubmatch(a.body, -1) {
				to := html.UnescapeString(link[1])
				kind := scopeKind(to)
				if kind != "" && (seen[kind] || scopeKind(path) != "") {
					continue
				}
				seen[kind] = true
				next = append(next, to)
			}
		}
	}
	return paths
}

func TestWalkFindsEveryKindOfPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.furnish()
	paths := strings.Join(f.signedIn().walk(func(answer) {}), "\n")
	goal, funnel := f.account.Goals(site.ID)[0].ID, f.account.Funnels(site.ID)[0].ID
	for _, part := range []string{
		"/", "/keys", "/password", "/sites/new", "/settings", "/delete", "/live", "/goals", "/goals/new", "/goals/" + goal,
		"/funnels", "/funnels/new", "/funnels/" + funnel, "/funnels/" + funnel + "/edit", "/export.csv", "/export.json",
		"/top/pages", "/top/referrers", "/top/names", "/top/sources", "/top/mediums", "/top/campaigns", "/events?name=", "/assets/", "is=source%3A", "is_not=page%3A", "is=goal%3A", "is=prop%3A",
	} {
		assert.Contains(t, paths, part)
	}
}

func TestEveryTextIsEscapedOnEveryPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.furnish()
	events := regexp.MustCompile(`<[^>]*\son[a-z]+\s*=`)
	escaped := 0
	f.signedIn().walk(func(a answer) {
		assert.NotContains(t, a.body, "<script>", a.path)
		assert.NotContains(t, a.body, "<img src=x", a.path)
		assert.NotRegexp(t, events, stripValues(a.body), a.path)
		assert.NotContains(t, a.body, "ZgotmplZ", a.path)
		escaped += strings.Count(a.body, "&lt;script&gt;alert(1)")
	})
	assert.Greater(t, escaped, 100, "the texts are shown")
}

// stripValues keeps tags and the names of their attributes.
func stripValues(body string) string {
	return regexp.MustCompile(`"[^"]*"`).ReplaceAllString(body, `""`)
}

func TestEveryPageHasAStrictPolicyAndNothingInline(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.furnish()
	inline := regexp.MustCompile(`<style|<script>|\sstyle=|javascript:|<script[^>]*>[^<]`)
	for name, b := range map[string]*browser{"signed in": f.signedIn(), "signed out": f.browser()} {
		for _, path := range b.walk(func(a answer) { assert.NotRegexp(t, inline, stripValues(a.body), "%s: %s", name, a.path) }) {
			h := b.get(path).header
			assert.Equal(t, policy, h.Get("Content-Security-Policy"), path)
			assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
			assert.Equal(t, "same-origin", h.Get("Referrer-Policy"), path)
		}
	}
	for _, part := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		assert.Contains(t, policy, part)
	}
	assert.NotContains(t, policy, "unsafe")
}

func TestEveryPageWorksWithAScreenReader(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.furnish()
	f.signedIn().walk(func(a answer) {
		assert.Equal(t, 1, strings.Count(a.body, "<h1"), "%s has one headline", a.path)
		assert.Equal(t, 1, strings.Count(a.body, "<main"), a.path)
		assert.Contains(t, a.body, `<html lang="en">`, a.path)
		assert.Equal(t, strings.Count(a.body, "<table"), strings.Count(a.body, "<caption"), "%s: tables have captions", a.path)
		assert.NotRegexp(t, `<th(?: class="[^"]*")?>`, a.body, "%s: headers have a scope", a.path)
		checkIDs(t, a)
		checkLabels(t, a)
	})
}

func checkIDs(t *testing.T, a answer) {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		assert.False(t, seen[m[1]], "%s: id %s is there twice", a.path, m[1])
		seen[m[1]] = true
	}
}

func checkLabels(t *testing.T, a answer) {
	for _, tag := range regexp.MustCompile(`<(?:input|select)\b[^>]*>`).FindAllString(a.body, -1) {
		field := attrs(tag)
		if field["type"] != "hidden" && field["aria-hidden"] != "true" {
			assert.Contains(t, a.body, `<label for="`+field["id"]+`"`, "%s: %s", a.path, tag)
		}
	}
}

func TestPagesWorkWithoutAnyData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.signedIn()
	assert.Contains(t, b.page("/").body, "Add the first site")
	site := f.site("empty", "empty.example.com")
	first := b.page("/sites/" + site.ID)
	assert.Contains(t, first.body, "Waiting for the first event")
	assert.Contains(t, first.body, html.EscapeString(`<script defer src="https://stats.example.com/t.js" data-site="empty.example.com"></script>`))
	b.walk(func(a answer) { assert.Less(t, a.status, 500, a.path) })
	for _, page := range []string{"/top/pages", "/top/referrers", "/events", "/events?name=none", "/live", "/goals", "/funnels"} {
		b.page("/sites/" + site.ID + page)
	}
}

func TestPagesStayBoundedWithTenThousandPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("large", "shop.example.com")
	for i := range 10_000 {
		path := fmt.Sprintf("/page/%05d", i)
		f.add(viewed(site.ID, path, noon.Add(-time.Duration(i)*time.Second), uint64(i+1)))
	}
	b := f.signedIn()
	base := "/sites/" + site.ID
	assert.Equal(t, shortTable, strings.Count(b.page(base).body, `title="/page/`))
	all := b.page(base + "/top/pages")
	assert.Equal(t, longTable, strings.Count(all.body, `title="/page/`))
	assert.Contains(t, all.body, `rel="next">More rows`)
	assert.Equal(t, recentEvents, strings.Count(b.page(base+"/live").body, "<li class"))
}

func TestPropsOfAnEventStayBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("large", "shop.example.com")
	for i := range 150 {
		f.add(happened(site.ID, "signup", noon.Add(-time.Minute), 0, fmt.Sprintf("key%03d", i), "v", "id", fmt.Sprintf("value%03d", i)))
	}
	body := f.signedIn().page("/sites/" + site.ID + "/events?name=signup").body
	assert.Equal(t, store.MaxReportKeys, strings.Count(body, `<caption class="hidden">Values of `))
	assert.Equal(t, maxPropValues, strings.Count(body, `title="value`))
	assert.Contains(t, body, "51 more props with 51 values in all are not shown")
	assert.Regexp(t, `130 more values</th><td class="n">130<`, body)
}

// A page whose figures take too long ends, and says so; an export takes as long as it needs.
func TestAPageThatTakesTooLongIsAnError(t *testing.T) {
	t.Parallel()
	slow := func(c *Config) { c.Store, c.ReportTimeout = stuck{c.Store}, time.Millisecond }
	f := newFixtureWith(t, slow)
	site := f.site("shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon.Add(-time.Hour), 1))
	b := f.signedIn()
	for _, path := range []string{"", "/top/pages", "/events?name=signup"} {
		a := b.get("/sites/" + site.ID + path)
		assert.Equal(t, http.StatusServiceUnavailable, a.status, path)
		assert.Contains(t, a.body, "This report takes too long", path)
	}
	assert.Equal(t, http.StatusOK, b.get("/sites/"+site.ID+"/export.csv").status)
	assert.NotContains(t, f.log.String(), "level=ERROR")
}

func TestAReportThatIsTooLargeIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, func(c *Config) { c.Store = large{c.Store} })
	site := f.site("shop", "shop.example.com")
	a := f.signedIn().get("/sites/" + site.ID + "/events?name=signup")
	assert.Equal(t, http.StatusServiceUnavailable, a.status)
	assert.Contains(t, a.body, "Choose a shorter range")
	assert.NotContains(t, f.log.String(), "level=ERROR")
}

// large is a store whose report of props is too large.
type large struct{ store.Store }

func (large) Ask(context.Context, store.Query, ...store.Question) ([]store.Answer, error) {
	return nil, fmt.Errorf("file: %w", store.ErrTooLarge)
}

// stuck is a store whose reports never end.
type stuck struct{ store.Store }

func (stuck) Ask(ctx context.Context, _ store.Query, _ ...store.Question) ([]store.Answer, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s stuck) Export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	if _, limited := ctx.Deadline(); limited {
		return errors.New("an export has a deadline")
	}
	return s.Store.Export(ctx, q, each)
}

func TestFailuresAreShownInTheDesignAndLogged(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, func(c *Config) { c.Store = broken{c.Store} })
	site := f.site("shop", "shop.example.com")
	b := f.signedIn()
	a := b.get("/sites/" + site.ID)
	assert.Equal(t, http.StatusInternalServerError, a.status)
	assert.Contains(t, a.body, "Something went wrong")
	assert.NotContains(t, a.body, "the disk is gone")
	assert.Contains(t, f.log.String(), "the disk is gone")
	missing := b.get("/nothing/here")
	assert.Equal(t, http.StatusNotFound, missing.status)
	assert.Contains(t, missing.body, "Page not found")
}

func TestAssetsAreCachedForeverAndNamedByTheirContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.browser()
	found := 0
	for _, m := range tagLink.FindAllStringSubmatch(b.page("/login").body, -1) {
		if !strings.HasPrefix(m[1], "/assets/") {
			continue
		}
		found++
		a := b.page(m[1])
		assert.Equal(t, "public, max-age=31536000, immutable", a.header.Get("Cache-Control"))
		assert.Regexp(t, `\.[0-9a-f]{12}\.(css|js|svg)$`, m[1])
	}
	assert.GreaterOrEqual(t, found, 3)
	assert.Equal(t, http.StatusNotFound, b.get("/assets/footfall.css").status)
	assert.Equal(t, "no-store", b.get("/login").header.Get("Cache-Control"))
}

func TestTheScriptIsAboutAHundredLines(t *testing.T) {
	t.Parallel()
	script, err := files.ReadFile("assets/footfall.js")
	require.NoError(t, err)
	assert.Less(t, strings.Count(string(script), "\n"), 110)
	assert.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(`, string(script))
}

func TestTextsBeyondTheBoundsOfADayAreExplained(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	const note = "(other) sums up what browsers sent beyond"
	f.add(viewed(site.ID, "/", noon, 1), happened(site.ID, "paid", noon, 1))
	for _, page := range []string{"", "/top/pages", "/top/names"} {
		assert.NotContains(t, b.page("/sites/"+site.ID+page).body, note, page)
	}
	f.add(viewed(site.ID, store.OtherPage, noon, 1), happened(site.ID, store.Other, noon, 1))
	for page, notes := range map[string]int{"": 2, "/top/pages": 1, "/top/names": 1, "/top/referrers": 0} {
		assert.Equal(t, notes, strings.Count(b.page("/sites/"+site.ID+page).body, note), page)
	}
}

func TestASumThatLacksValuesSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	loaded := happened(site.ID, "loaded", noon, 1, "ms", "12.5", "items", "3")
	loaded.Props[0].Numeric, loaded.Props[1].Numeric = true, true
	f.add(loaded)
	page := "/sites/" + site.ID + "/events?name=loaded"
	assert.NotContains(t, b.page(page).body, "lacks")
	f.add(happened(site.ID, "loaded", noon, 1, "ms", store.Other), happened(site.ID, "loaded", noon, 1, "ms", store.Other))
	body := b.page(page).body
	assert.Contains(t, body, "The sum of ms lacks 2 values that browsers sent beyond the bounds of a day")
	assert.Equal(t, 1, strings.Count(body, "lacks"))
}

// propsCounter counts the questions for all props.
type propsCounter struct {
	store.Store
	calls *atomic.Int64
}

func (c propsCounter) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	for _, question := range questions {
		if question.By == store.Props {
			c.calls.Add(1)
		}
	}
	return c.Store.Ask(ctx, q, questions...)
}

// The props of a day that is not precomputed are read from all of its events, so the page asks once.
func TestThePageOfAnEventReadsThePropsOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	f := newFixtureWith(t, func(c *Config) { c.Store = propsCounter{c.Store, &calls} })
	site := f.site("Shop", "shop.example.com")
	paid := happened(site.ID, "paid", noon, 0, "plan", "pro", "amount", "49.90")
	paid.Props[1].Numeric = true
	f.add(paid)
	body := f.signedIn().page("/sites/" + site.ID + "/events?name=paid").body
	assert.Contains(t, body, "Sum of amount")
	assert.Contains(t, body, "Values of plan")
	assert.Equal(t, int64(1), calls.Load())
}

// unwritable is a store on a disk without space.
type unwritable struct{ store.Store }

func (unwritable) Put(context.Context, string, store.Record) error {
	return fmt.Errorf("file: %w", store.ErrFull)
}

func TestAChangeOnAFullDiskSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, err := account.Open(t.Context(), unwritable{f.store})
	require.NoError(t, err)
	f.handler = New(Config{Account: a, Store: f.store, Live: f.hub, Logger: slog.New(slog.NewTextHandler(f.log, nil))})
	b := f.signedIn()
	got := b.post("/sites/new", url.Values{"name": {"Shop"}, "domain": {"shop.example.com"}})
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Contains(t, got.body, "The disk is full")
	assert.Contains(t, got.body, "Nothing was changed")
	assert.Contains(t, f.log.String(), "level=ERROR")
}
