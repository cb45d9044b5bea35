package dashboard

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// serverSite adds a site that only a backend sends to.
func (f *fixture) serverSite() account.Site {
	site := f.site("Shop", "shop.example.com")
	for i := range 6 {
		e := happened(site.ID, "order_placed", noon.Add(-time.Duration(i)*time.Hour), 0, "plan", "pro", "order", fmt.Sprint(1000+i))
		e.Path, e.Source = "/checkout", "letter"
		f.add(e)
	}
	f.add(happened(site.ID, "signup", noon.Add(-time.Hour), 0, "coupon", "x"))
	return site
}

// cardsOf returns the headings of a page's cards.
func cardsOf(body string) (all []string) {
	for _, part := range strings.Split(between(body, `<div class="tables">`, `<p class="exports`), "<h2 ")[1:] {
		all = append(all, strings.TrimSpace(between(part, ">", "<")))
	}
	return all
}

func TestOverviewOfASiteWithoutPageviewsShowsItsEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.serverSite()
	body := f.signedIn().page("/sites/" + site.ID).body
	assert.Regexp(t, `<dt>Events</dt><dd class="big">7</dd>`, body)
	assert.NotContains(t, body, "<dt>Visitors</dt>", "there are none to count")
	assert.NotContains(t, body, "<dt>Pageviews</dt>")
	assert.Contains(t, body, `<title id="chart-title">Events over time</title>`)
	assert.NotContains(t, body, "No pageview")
	assert.Equal(t, []string{"Events", "Pages of events", "Sources of events", "plan"}, cardsOf(body),
		"a medium, a campaign, a browser and a device nothing has; an order number is different in each event")
	assert.Regexp(t, `(?s)>Pages of events<.*title="/checkout".*>6<.*title="/cart".*>1<`, body)
	assert.Regexp(t, `(?s)>Sources of events<.*title="letter".*>6<`, body)
	assert.Regexp(t, `(?s)>plan <span[^>]*>of <a href="[^"]*name=order_placed[^"]*">order_placed</a>.*title="pro".*>6<`, body)
}

func TestOverviewShowsNoVisitorsThatAreNotThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.serverSite()
	f.add(happened(site.ID, "clicked", noon.Add(-time.Hour), 5)) // of a browser
	body := f.signedIn().page("/sites/" + site.ID).body
	assert.Regexp(t, `<dt>Visitors</dt><dd class="big">1</dd>`, body)
	assert.NotContains(t, body, "<dt>Pageviews</dt>")
}

func TestCardsCountEventsWhenAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.serverSite()
	f.add(viewed(site.ID, "/only-viewed", noon.Add(-time.Hour), 1))
	b := f.signedIn()
	path := "/sites/" + site.ID
	body := b.page(path + "?range=7d").body
	assert.Equal(t, []string{"Pages", "Referrers", "Events", "Sources of events", "UTM mediums", "UTM campaigns"}, cardsOf(body),
		"no pageview has a source, but events have; no pageview has a browser")
	assert.Contains(t, body, `title="/only-viewed"`)
	assert.NotContains(t, body, `title="/checkout"`)
	link := path + "?" + url.Values{"events": {"pages"}, "range": {"7d"}}.Encode()
	assert.Contains(t, body, `href="`+strings.ReplaceAll(link, "&", "&amp;")+`">Count events</a>`)

	body = b.page(link).body
	assert.Equal(t, "Pages of events", cardsOf(body)[0])
	assert.Contains(t, body, `title="/checkout"`)
	assert.NotContains(t, body, `title="/only-viewed"`)
	assert.Contains(t, body, `href="`+path+`?range=7d">Count pageviews</a>`)
	assert.Contains(t, body, `name="events" value="pages"`, "another range keeps the choice")

	body = b.page(path + "/top/pages?range=7d").body
	assert.Contains(t, body, `href="`+path+`/top/event-pages?range=7d">Count events</a>`)
	assert.Contains(t, b.page(path+"/top/event-pages?range=7d").body, `title="/checkout"`)
}

func TestAChoiceOfTablesIsCheckedAndSorted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.serverSite()
	f.add(viewed(site.ID, "/", noon.Add(-time.Hour), 1))
	body := f.signedIn().page("/sites/" + site.ID + "?events=sources,nothing,pages,%22,names").body
	assert.Contains(t, body, `name="events" value="pages,sources"`)
}

func TestAnEmptyRangeSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon.AddDate(0, -6, 0), 1))
	body := f.signedIn().page("/sites/" + site.ID + "?range=today").body
	assert.Contains(t, body, "No pageviews and no events in this range.")
	assert.NotContains(t, body, `class="tables"`)
}

func TestChartOfEventsStaysWithinItsScale(t *testing.T) {
	t.Parallel()
	c := newEventChart([]store.Point{{At: noon}, {At: noon, Totals: store.Totals{Events: 100, Visitors: 3}}}, store.Day)
	assert.Equal(t, bar{"12.0", "178.0"}, c.Columns[1].Events)
	assert.Equal(t, int64(100), c.Grid[0].Value)
	assert.Equal(t, "100 events in 2 days.", c.Summary)
}
