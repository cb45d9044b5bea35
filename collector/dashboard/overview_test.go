package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/calendar"
	"github.com/footfall-dev/footfall/collector/store"
)

func TestOverviewComparesWithTheTimeBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	for i := range uint64(6) {
		f.add(viewed(site.ID, "/", noon.Add(-time.Hour), i+1))
	}
	yesterday := noon.AddDate(0, 0, -1)
	for i := range uint64(4) {
		f.add(viewed(site.ID, "/", yesterday.Add(-time.Hour), i+1))
	}
	f.add(viewed(site.ID, "/", yesterday.Add(time.Hour), 9)) // yesterday, but later in the day than now
	f.add(happened(site.ID, "paid", yesterday.Add(-time.Hour), 0), happened(site.ID, "paid", yesterday.Add(-time.Hour), 0),
		happened(site.ID, "paid", noon.Add(-time.Hour), 0))
	body := f.signedIn().page("/sites/" + site.ID + "?range=today").body
	assert.Regexp(t, `(?s)Visitors</dt><dd class="big">6</dd>.*50% more.*Pageviews</dt><dd class="big">6</dd>.*50% more.*Events</dt><dd class="big">1</dd>.*50% fewer`, body)
	assert.Contains(t, body, "in UTC")
	assert.Contains(t, body, "Compared with the same hours yesterday.")
	assert.Contains(t, body, "compared with the same hours yesterday (4)")
}

func TestOverviewSaysWithWhatItCompares(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1))
	b := f.signedIn()
	for query, want := range map[string]string{
		"today":                                "the same hours yesterday",
		"7d":                                   "the 7 days before, up to the same time of day",
		"12m":                                  "the 365 days before, up to the same time of day",
		"custom&from=2026-11-20&to=2026-11-20": "the same hours yesterday",
		"custom&from=2026-11-19&to=2026-11-19": "the day before",
		"custom&from=2026-11-18&to=2026-11-19": "the 2 days before",
	} {
		assert.Contains(t, b.page("/sites/"+site.ID+"?range="+query).body, "Compared with "+want+".", query)
	}
}

func TestOverviewShowsTheTopOfEachTableAndLinksToAllOfIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	for i := range 20 {
		e := viewed(site.ID, fmt.Sprintf("/p%02d", i), noon.Add(-time.Hour), uint64(i+1))
		e.Referrer, e.Source = "news.example", "letter"
		f.add(e)
	}
	f.add(viewed(site.ID, "/p00", noon.Add(-time.Hour), 1), happened(site.ID, "sign & up", noon.Add(-time.Hour), 2, "plan", "pro"))
	b := f.signedIn()
	base := "/sites/" + site.ID
	body := b.page(base + "?range=7d").body
	assert.Regexp(t, `(?s)title="/p00">.*?>2<.*title="/p07">`, body)
	assert.NotContains(t, body, `title="/p08"`)
	assert.Contains(t, body, "Direct, or within the site")
	assert.Contains(t, body, base+"/top/pages?range=7d")
	assert.Contains(t, body, base+"/events?name=sign&#43;%26&#43;up&amp;range=7d")
	assert.Contains(t, b.page(base+"/top/pages?range=7d").body, `title="/p19"`)
	event := b.page(base + "/events?name=sign+%26+up&range=7d").body
	assert.Regexp(t, `(?s)<h2[^>]*>plan</h2>.*title="pro".*>1<`, event)
	assert.Contains(t, event, `name="name" value="sign &amp; up"`, "the range picker keeps the event")
}

func TestOverviewShowsBrowsersAndDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	e := viewed(site.ID, "/", noon.Add(-time.Hour), 1)
	e.Browser, e.Device = "Firefox", "Tablet"
	f.add(e)
	body := f.signedIn().page("/sites/" + site.ID).body
	assert.Regexp(t, `(?s)>Browsers</h2>.*title="Firefox".*>Devices</h2>.*title="Tablet"`, body)
}

func TestBarsOfReferrersIgnoreDirectVisits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	for i := range uint64(9) {
		f.add(viewed(site.ID, "/", noon.Add(-time.Hour), i+1))
	}
	e := viewed(site.ID, "/", noon.Add(-time.Hour), 10)
	e.Referrer = "news.example"
	f.add(e)
	body := f.signedIn().page("/sites/" + site.ID + "/top/referrers").body
	assert.Regexp(t, `(?s)width="0%"[^>]*/></svg>\s*<a[^>]*>Direct.*width="100.000%"[^>]*/></svg>\s*<a[^>]*title="news.example"`, body)
}

func TestRangesAreWholeDaysOfUTC(t *testing.T) {
	t.Parallel()
	late := time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("behind", -3600)) // the 2nd in UTC
	for query, want := range map[string]string{
		"range=today": "2026-03-02 2026-03-03 today",
		"range=7d":    "2026-02-24 2026-03-03 7d",
		"range=30d":   "2026-02-01 2026-03-03 30d",
		"range=12m":   "2025-03-03 2026-03-03 12m",
		"":            "2026-02-01 2026-03-03 30d",
		"range=custom&from=2025-12-31&to=2026-01-01": "2025-12-31 2026-01-02 custom",
		"from=2025-12-31&to=2026-01-01":              "2025-12-31 2026-01-02 custom",
	} {
		p, err := readPeriod(httptest.NewRequest(http.MethodGet, "/?"+query, nil), late, time.UTC, nil)
		require.NoError(t, err)
		assert.Equal(t, want, p.From.Format(time.DateOnly)+" "+p.To.Format(time.DateOnly)+" "+p.Name, query)
		assert.Empty(t, p.Problem, query)
		assert.Equal(t, time.Duration(0), p.To.Sub(p.From)%(24*time.Hour), query)
	}
}

func TestAnInvalidRangeIsReportedAndKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1))
	b := f.signedIn()
	for query, problem := range map[string]string{
		"range=custom&from=x&to=2026-01-01":          "From must be a date",
		"range=custom&from=2026-01-01&to=x":          "To must be a date",
		"range=custom&from=2026-01-01":               "To must be a date",
		"from=2026-01-01":                            "To must be a date",
		"range=custom&from=2026-01-02&to=2026-01-01": "To is before From",
		"range=custom&from=1970-01-01&to=2020-01-02": "longer than fifty years",
		"range=custom&from=0001-01-01&to=0001-01-02": "year must be from 1970",
		"range=banana":                               "Range must be today, yesterday, week, lastweek, 7d, 28d, 30d, 90d, month, lastmonth, year, lastyear, 12m, all or custom.",
	} {
		a := b.get("/sites/" + site.ID + "?" + query)
		assert.Equal(t, http.StatusUnprocessableEntity, a.status, query)
		assert.Contains(t, a.body, problem)
		for typed := range strings.SplitSeq(query, "&") {
			if name, day, _ := strings.Cut(typed, "="); name != "range" && day != "x" {
				assert.Contains(t, a.body, `value="`+day+`"`, "%s is kept", typed)
			}
		}
		assert.NotContains(t, a.body, `value="x"`, "no browser shows it in a field for days")
		assert.Contains(t, a.body, ">22 Oct – 20 Nov 2026<", "the page says which days it shows")
	}
}

func TestEveryPageWithFiguresReportsAnInvalidRange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.furnish()
	b := f.signedIn()
	for _, path := range []string{"", "/top/pages", "/events", "/events?name=signup", "/goals", "/funnels/" + f.account.Funnels(site.ID)[0].ID} {
		for _, query := range []string{"range=banana", "range=custom&from=x"} {
			before := "?"
			if strings.Contains(path, "?") {
				before = "&"
			}
			a := b.get("/sites/" + site.ID + path + before + query)
			assert.Equal(t, http.StatusUnprocessableEntity, a.status, a.path)
			assert.Equal(t, 1, strings.Count(a.body, `role="alert"`), a.path)
		}
	}
	b.page("/sites/" + f.site("Empty", "empty.example.com").ID + "/goals?range=banana") // without figures
}

func TestChartHasHoursForUpToTwoDaysElseDays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1))
	b := f.signedIn()
	for query, columns := range map[string]int{
		"range=today": 24, "range=7d": 7, "range=30d": 30, "range=12m": 365,
		"range=custom&from=2026-11-19&to=2026-11-20": 48, "range=custom&from=2026-11-18&to=2026-11-20": 3,
	} {
		body := b.page("/sites/" + site.ID + "?" + query).body
		assert.Equal(t, columns, strings.Count(body, `<g class="column">`), query)
		assert.Equal(t, columns, strings.Count(between(body, `class="scroll"`, `</table>`), "<td class=\"n\">")/3, "%s: and a table of them", query)
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func TestChartColumnsStayWithinTheirScale(t *testing.T) {
	t.Parallel()
	points := []store.Point{
		{At: noon, Totals: store.Totals{Visitors: 3, Pageviews: 7, Events: 1}},
		{At: noon.Add(time.Hour), Totals: store.Totals{Visitors: 1, Pageviews: 100_000, Events: 999}},
	}
	c := newChart(points, nil, period{Unit: calendar.Hours, Zone: time.UTC})
	assert.Equal(t, []gridLine{{"12.0", "16.0", "100k"}, {"101.0", "105.0", "50k"}, {"190.0", "194.0", "0"}, {Y: "214.0"}, {"284.0", "288.0", "1,000"}}, c.Grid)
	assert.Equal(t, "206.0", c.LabelsY)
	assert.Equal(t, bar{"12.0", "178.0"}, c.Columns[1].Pageviews)
	assert.Equal(t, bar{"188.5", "1.5"}, c.Columns[0].Visitors, "few can be seen beside many")
	assert.Equal(t, bar{"214.0", "69.9"}, c.Columns[1].Events)
	assert.Equal(t, "100,007 pageviews and 1,000 events in 2 hours.", c.Summary)
}

// A single pageview beside very many events of a server must not look like the larger number.
func TestPartOfTheChartWithTheLargerCountsHasTheMostRoom(t *testing.T) {
	t.Parallel()
	points := []store.Point{{At: noon, Totals: store.Totals{Pageviews: 1, Events: 50_000}}}
	c := newChart(points, nil, period{Unit: calendar.Hours, Zone: time.UTC})
	assert.Equal(t, bar{"47.0", "35.0"}, c.Columns[0].Pageviews)
	assert.Equal(t, bar{"106.0", "148.3"}, c.Columns[0].Events)
	assert.Equal(t, []gridLine{{"12.0", "16.0", "2"}, {"82.0", "86.0", "0"}, {Y: "106.0"}, {"284.0", "288.0", "60k"}, {"195.0", "199.0", "30k"}}, c.Grid)
	assert.Equal(t, "98.0", c.LabelsY, "between the parts")

	even := newChart([]store.Point{{At: noon, Totals: store.Totals{Pageviews: 8, Events: 8}}}, nil, period{Unit: calendar.Hours, Zone: time.UTC})
	assert.Equal(t, bar{"12.0", "124.0"}, even.Columns[0].Pageviews)
	assert.Equal(t, bar{"160.0", "124.0"}, even.Columns[0].Events)

	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1))
	const note = "each with its own scale."
	b := f.signedIn()
	assert.NotContains(t, b.page("/sites/"+site.ID).body, note, "there is one part")
	f.add(happened(site.ID, "paid", noon, 0))
	assert.Contains(t, b.page("/sites/"+site.ID).body, note)
}

func TestValuesOfTheScaleAreShort(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ value, scale int64 }{
		"0": {0, 16_000}, "8,000": {8000, 8000}, "8k": {8000, 16_000}, "16k": {16_000, 16_000}, "600k": {600_000, 1_200_000 / 2},
		"0.6M": {600_000, 1_200_000}, "1.2M": {1_200_000, 1_200_000}, "5B": {5e9, 10e9},
	} {
		assert.Equal(t, want, short(c.value, c.scale))
	}
}

func TestScaleIsRoundAndItsHalfIsWhole(t *testing.T) {
	t.Parallel()
	for count, want := range map[int64]int64{0: 2, 1: 2, 3: 4, 5: 6, 9: 10, 11: 12, 13: 16, 17: 20, 81: 100, 999: 1000, 1_000_001: 1_200_000} {
		assert.Equal(t, want, niceScale(count))
	}
	assert.GreaterOrEqual(t, niceScale(1<<62), int64(1<<62))
}

func TestFiguresAreFormatted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		assert.Equal(t, want, count(n))
	}
	assert.Equal(t, "1 visitor", plural(1, "visitor"))
	for _, c := range []struct {
		part, whole int64
		want        string
	}{{0, 0, "0%"}, {0, 9, "0%"}, {1, 3, "33.3%"}, {1, 1000, "0.10%"}, {9, 9, "100%"}} {
		assert.Equal(t, c.want, rate(c.part, c.whole))
	}
	assert.Equal(t, "over 10 times as many", figure{Value: 11, Before: 1}.Change())
	assert.Equal(t, "none then", figure{Value: 11}.Change())
	assert.Equal(t, "no change", figure{}.Change())
}
