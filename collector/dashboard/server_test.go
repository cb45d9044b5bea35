package dashboard

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/calendar"
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
	c := newEventChart([]store.Point{{At: noon}, {At: noon, Totals: store.Totals{Events: 100, Visitors: 3}}}, nil, period{Unit: calendar.Days})
	assert.Equal(t, bar{"12.0", "178.0"}, c.Columns[1].Events)
	assert.Equal(t, "100", c.Grid[0].Value)
	assert.Equal(t, "100 events in 2 days.", c.Summary)
}

func TestThePageOfAnEventShowsItsTimeItsSumsAndItsPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	for i := range 20 {
		e := happened(site.ID, "order_placed", noon.AddDate(0, 0, -i%5), 0, "amount", fmt.Sprintf("%d.25", 100*i), "plan", "pro", "items", "3")
		e.Props[0].Numeric, e.Props[2].Numeric = true, true
		e.Path = "/checkout"
		f.add(e)
	}
	f.add(happened(site.ID, "seen", noon, 7))
	body := f.signedIn().page("/sites/" + site.ID + "/events?name=order_placed").body
	assert.Regexp(t, `(?s)Sum of amount</span></dt><dd class="big">19,005</dd><dd class="change">950.25 on average<`, body)
	assert.Regexp(t, `(?s)>amount</th><td class="n" data-label="Sum">19,005</td><td class="n" data-label="Average">950.25</td><td class="n" data-label="Lowest">0.25</td><td class="n" data-label="Highest">1,900.25</td><td class="n" data-label="Events">20<`, body)
	assert.Regexp(t, `(?s)>items</a></th><td class="n" data-label="Sum">60</td><td class="n" data-label="Average">3</td>`, body)
	assert.Contains(t, body, "20 events in 30 days.")
	assert.Equal(t, 30, strings.Count(body, `<g class="column">`))
	assert.Regexp(t, `(?s)<h2>Pages</h2>.*title="/checkout".*>20<`, body)
	assert.NotContains(t, body, "<dt>Visitors</dt>", "there are none")
	assert.NotContains(t, body, `title="100.25"`, "twenty bars of equal height")
	assert.Contains(t, body, `>plan</h2>`)
	assert.Contains(t, body, `>items</h2>`, "the values repeat")
	body = f.signedIn().page("/sites/" + site.ID + "/events?name=none").body
	assert.Contains(t, body, "No such event in this range.")
}

func TestNumbersAreFormatted(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0", 5: "5", 1234567: "1,234,567", 49.9: "49.90", 1234.5: "1,234.50", -0.25: "-0.25", -1234.5: "-1,234.50", 1e300: "1e+300",
		0.001: "0", -0.001: "0", 999999999999999: "999,999,999,999,999", math.Inf(1): "out of range", math.NaN(): "out of range", 0.999: "1",
	} {
		assert.Equal(t, want, number(f))
	}
}
