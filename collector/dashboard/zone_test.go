package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// It is noon UTC, and 04:00 in Los Angeles.
func TestDaysOfAPageAreThoseOfItsSite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com").ID
	f.move(site, "America/Los_Angeles")
	midnight := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	f.add(viewed(site, "/late", midnight.Add(-time.Minute), 1), viewed(site, "/early", midnight, 2))
	f.add(viewed(site, "/then", midnight.AddDate(0, 0, -1).Add(3*time.Hour), 3), viewed(site, "/later-then", midnight.AddDate(0, 0, -1).Add(5*time.Hour), 4))
	b := f.signedIn()
	today := b.page("/sites/" + site + "?range=today").body
	assert.Contains(t, today, "20 November 2026")
	assert.Contains(t, today, "/early")
	assert.NotContains(t, today, "/late")
	assert.Contains(t, today, "Fri 20 Nov, 00:00: 1 visitor, 1 pageview")
	assert.Contains(t, today, "Fri 20 Nov, 04:00 (not over)")
	assert.NotContains(t, today, "Fri 20 Nov, 03:00 (not over)")
	assert.Contains(t, today, "Hour (America/Los_Angeles)")
	assert.Contains(t, today, "in America/Los_Angeles.")
	assert.Contains(t, today, "compared with the same hours yesterday (1)", "until 04:00")
	assert.Contains(t, b.page("/sites/"+site+"?range=yesterday").body, "/late")

	sites := b.page("/").body
	assert.Regexp(t, `(?s)Visitors</dt>\s*<dd[^>]*>1<`, sites)
	live := b.page("/sites/" + site + "/live").body
	assert.Contains(t, live, ">00:00:00<")
	assert.Contains(t, live, ">19 Nov<")
}

// A visitor who reaches a goal in the evening of Los Angeles does so on the next day of UTC.
func TestAGoalIsReachedOnADayOfTheSite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com").ID
	f.move(site, "America/Los_Angeles")
	goal, err := f.account.SaveGoal(t.Context(), account.Goal{Site: site, Name: "Bought", Match: store.Match{Page: "/thanks"}})
	require.NoError(t, err)
	morning := time.Date(2026, 11, 17, 17, 0, 0, 0, time.UTC)
	f.add(viewed(site, "/", morning, 1), viewed(site, "/thanks", morning.Add(11*time.Hour), 1), viewed(site, "/", morning, 2))
	b := f.signedIn()
	for _, days := range []string{"all", "30d", "custom&from=2026-11-17&to=2026-11-17"} {
		query := "?is=goal:" + goal.ID + "&range=" + days
		assert.Contains(t, b.page("/sites/"+site+query).body, `Pageviews</dt><dd class="big">2</dd>`, days)
		assert.Equal(t, 3, strings.Count(b.get("/sites/"+site+"/export.csv"+query).body, "\n"), "a header and two events: %s", days)
	}
}

// Clocks go back on 1 November 2026, and the 25 hours are columns.
func TestADayOf25HoursHas25Columns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com").ID
	f.move(site, "America/New_York")
	for hour := range 25 {
		f.add(viewed(site, "/", time.Date(2026, 11, 1, 4+hour, 30, 0, 0, time.UTC), 1))
	}
	body := f.signedIn().page("/sites/" + site + "?from=2026-11-01&to=2026-11-01").body
	assert.Contains(t, body, ">25 pageviews and 0 events in 25 hours.")
	assert.Len(t, regexp.MustCompile(`1 Nov, \d\d:00: `).FindAllString(body, -1), 25)
}

func TestADayThatTheZoneLeftOutIsAnEmptyPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com").ID
	f.move(site, "Pacific/Apia")
	f.add(viewed(site, "/", noon, 1), happened(site, "paid", noon, 0))
	b := f.signedIn()
	for _, query := range []string{"", "&by=day", "&by=hour", "&compare=previous", "&by=day&compare=previous"} {
		for _, path := range []string{"?", "/events?name=paid&"} {
			assert.Equal(t, http.StatusOK, b.get("/sites/"+site+path+"from=2011-12-30&to=2011-12-30"+query).status, path+query)
		}
	}
}

// 1 November 2026 has 25 hours in New York.
func TestHoursCompareWithTheSameHoursOfTheClock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com").ID
	f.move(site, "America/New_York")
	f.add(viewed(site, "/", time.Date(2026, 11, 1, 15, 30, 0, 0, time.UTC), 1), viewed(site, "/", time.Date(2026, 11, 2, 15, 30, 0, 0, time.UTC), 1))
	b := f.signedIn()
	monday := b.page("/sites/" + site + "?from=2026-11-02&to=2026-11-02&compare=previous").body
	assert.Contains(t, monday, "2 Nov, 10:00: 1 visitor, 1 pageview, 0 events; before: 1, 1, 0")
	both := b.page("/sites/" + site + "?from=2026-11-01&to=2026-11-02&by=hour&compare=custom&since=2026-11-02").body
	assert.Contains(t, both, "1 Nov, 10:00: 1 visitor, 1 pageview, 0 events; before: 1, 1, 0")
}

// It is the second 01:30.
func TestAnHourThatIsOverIsNotOpenIfItRepeats(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC)
	f := newFixtureWith(t, func(c *Config) { c.Now = func() time.Time { return now } })
	site := f.site("Shop", "shop.example.com").ID
	f.move(site, "America/New_York")
	f.add(viewed(site, "/", now, 1))
	body := f.signedIn().page("/sites/" + site + "?range=today").body
	assert.Regexp(t, `(?s)1 Nov, 01:00: 0 visitors.*1 Nov, 01:00 \(not over\): 1 visitor`, body)
}

func TestTimeZoneOfASiteIsChosenAndChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.signedIn()
	answer := b.post("/sites/new", url.Values{"domain": {"shop.example.com"}, "zone": {"Asia/Kathmandu"}})
	require.Equal(t, http.StatusSeeOther, answer.status, answer.body)
	site, ok := f.account.SiteOf("shop.example.com")
	require.True(t, ok)
	assert.Equal(t, "Asia/Kathmandu", site.Zone)
	page := b.page("/sites/" + site.ID + "/settings")
	assert.Contains(t, page.body, `value="Asia/Kathmandu"`)
	for _, wrong := range []string{"Europe/Nowhere", "Local", "../etc/passwd", "\x00"} {
		answer := b.post("/sites/"+site.ID+"/settings", url.Values{"domain": {"shop.example.com"}, "zone": {wrong}})
		assert.Equal(t, http.StatusUnprocessableEntity, answer.status, wrong)
		assert.Contains(t, answer.body, "must be the name of a time zone, such as Europe/Berlin or UTC")
	}
	for _, utc := range []string{"", "UTC", " UTC "} {
		require.Equal(t, http.StatusSeeOther, b.post("/sites/"+site.ID+"/settings", url.Values{"domain": {"shop.example.com"}, "zone": {utc}}).status)
		site, _ = f.account.Site(site.ID)
		assert.Empty(t, site.Zone)
	}
}

// A file that a version with more time zones wrote.
func TestAnUnknownTimeZoneIsUTC(t *testing.T) {
	t.Parallel()
	assert.Equal(t, time.UTC, account.Site{Zone: "Mars/Olympus"}.Location())
}
