package dashboard

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/internal/calendar"
	"github.com/footfall-dev/footfall/collector/store"
)

func TestChartHasTheUnitThatWasChosen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1), viewed(site.ID, "/", noon.AddDate(-4, 0, 0), 1))
	b := f.signedIn()
	for query, columns := range map[string]int{
		"range=30d&by=week": 5, "range=30d&by=month": 2, "range=30d&by=hour": 720, "range=7d&by=week": 7, "range=7d&by=banana": 7,
		"range=year": 365, "range=year&by=month": 12, "range=12m&by=week": 53, "range=month": 30, "range=week": 7, "range=yesterday": 24,
		"range=all": 49, "range=custom&from=2024-11-21&to=2026-11-20": 105,
	} {
		body := b.page("/sites/" + site.ID + "?" + query).body
		assert.Equal(t, columns, strings.Count(body, `<g class="column">`), query)
	}
	body := b.page("/sites/" + site.ID + "?range=month").body
	assert.Equal(t, 11, strings.Count(body, `<span class="muted">not over</span>`), "the days from 20 to 30 November")
	assert.Contains(t, body, `from=2026-11-05&amp;range=custom&amp;to=2026-11-05" tabindex="-1" aria-label="Thu 5 Nov 2026"`)
	empty := f.site("Empty", "empty.example.com")
	assert.Contains(t, b.page("/sites/"+empty.ID+"?range=all").body, "20 November 2026", "a site without events has today")
}

func TestArrowsLeadToTheTimeBeforeAndAfter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1))
	b := f.signedIn()
	path := "/sites/" + site.ID
	body := b.page(path + "?range=month&is=source:news&compare=year&by=week").body
	earlier := path + "?" + url.Values{"compare": {"year"}, "from": {"2026-10-01"}, "is": {"source:news"}, "range": {"custom"}, "to": {"2026-10-31"}}.Encode()
	assert.Contains(t, body, `<a href="`+strings.ReplaceAll(earlier, "&", "&amp;")+`" rel="prev"`)
	assert.NotContains(t, body, `rel="next"`, "the time after has not begun")
	body = b.page(earlier).body
	assert.Contains(t, body, `from=2026-11-01&amp;is=source%3Anews&amp;range=custom&amp;to=2026-11-30" rel="next"`)
	assert.NotContains(t, b.page(path+"?range=custom&from=1970-01-01&to=1970-01-02").body, `rel="prev"`)
}

func TestRowsAndChartCompareIfTheyAreAskedTo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	then := noon.AddDate(0, 0, -7).Add(-time.Hour)
	for i := range 30 { // more pages than a table shows, so that rows of then are not among the first
		f.add(viewed(site.ID, "/then"+string(rune('a'+i%26)), then, uint64(i+1)), viewed(site.ID, "/then"+string(rune('a'+i%26)), then, 1))
	}
	f.add(viewed(site.ID, "/kept", noon, 1), viewed(site.ID, "/kept", noon, 2), viewed(site.ID, "/kept", then, 1), viewed(site.ID, "/new", noon, 1))
	b := f.signedIn()
	path := "/sites/" + site.ID
	body := b.page(path + "?range=7d").body
	assert.NotContains(t, body, `>Change</th>`)
	assert.NotContains(t, body, `class="line earlier"`)
	for _, page := range []string{"", "/top/pages"} {
		body = b.page(path + page + "?range=7d&compare=previous").body
		assert.Regexp(t, `(?s)title="/kept".*?<td class="n">2</td><td class="n change up"><span aria-hidden="true">&#43;100%</span><span class="hidden">100% more, 1 before</span></td>`, body)
		assert.Regexp(t, `(?s)title="/new".*?<td class="n">1</td><td class="n change"><span aria-hidden="true">new</span><span class="hidden">none then, 0 before</span></td>`, body)
	}
	body = b.page(path + "?range=7d&compare=previous").body
	assert.Equal(t, 6, strings.Count(body, `class="line earlier"`))
	assert.Contains(t, body, `<th scope="col" class="n">Pageviews before</th>`)
	assert.NotContains(t, b.page(path+"?range=7d&compare=none").body, "Compared with")
	assert.Contains(t, b.page(path+"?range=7d&compare=custom&since=2026-01-05").body, "Compared with 5 Jan – 11 Jan 2026, up to the same time of day.")
	for query, problem := range map[string]string{"compare=x": "Compare must be", "compare=custom": "must be a date such as", "compare=custom&since=x": "must be a date such as"} {
		a := b.get(path + "?" + query)
		assert.Equal(t, 422, a.status)
		assert.Contains(t, a.body, problem)
	}
}

// Days that have not begun have no visitors yet, rather than none.
func TestLineOfVisitorsEndsNow(t *testing.T) {
	t.Parallel()
	p := period{Unit: calendar.Days, Now: noon, Span: calendar.Span{From: noon.AddDate(0, 0, -3), To: noon.AddDate(0, 0, 4)}}
	var points []store.Point
	for i := range 7 {
		points = append(points, store.Point{At: p.From.AddDate(0, 0, i), Totals: store.Totals{Visitors: 1, Pageviews: 2}})
	}
	assert.Len(t, newChart(points, nil, p).Lines, 3)
	assert.Len(t, newChart(points, points, p).Lines, 3+6, "the time before is over")
}
