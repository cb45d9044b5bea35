package dashboard

import (
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever an address says, the page answers or says what is wrong, and its headline is the sum of its chart: both count
// the same events. Some events are of the future, because a clock was ahead.
func TestAnyAddressIsAnsweredAndHeadlineAndChartAgree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sites := []string{f.site("Shop", "shop.example.com").ID, f.site("Ahead", "ahead.example.com").ID, f.site("Backend", "backend.example.com").ID}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		at := noon.Add(-time.Duration(rng.Int64N(int64(500 * 24 * time.Hour))))
		f.add(viewed(sites[0], choose(rng, "/", "/a", "/ü"), at, uint64(1+rng.IntN(9))), happened(sites[0], choose(rng, "paid", "signup"), at, uint64(rng.IntN(3)), "plan", "pro"))
		f.add(viewed(sites[1], "/", noon.AddDate(0, 0, 3).Add(time.Duration(rng.IntN(1000))*time.Hour), 1))
		f.add(happened(sites[2], "paid", at, 0, "plan", "pro"))
	}
	b := f.signedIn()
	answered := 0
	for i := range 600 {
		if i%50 == 0 {
			f.move(sites[rng.IntN(len(sites))], choose(rng, "UTC", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana", "Pacific/Apia"))
		}
		address := "/sites/" + sites[rng.IntN(len(sites))] + choose(rng, "", "", "/top/pages", "/top/names", "/top/pages.csv", "/events", "/events?name=paid", "/goals")
		query := randomAddress(rng)
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		a := b.get(address + separator + query.Encode())
		require.Contains(t, []int{200, 422}, a.status, "%d: %s", i, a.path)
		if a.status == 200 && strings.Contains(a.body, `<dl class="headline">`) {
			headlineIsTheSumOfTheChart(t, a)
			answered++
		}
	}
	assert.Greater(t, answered, 40)
}

func choose(rng *rand.Rand, of ...string) string { return of[rng.IntN(len(of))] }

// randomAddress returns parameters of a page, most of which have a valid value.
func randomAddress(rng *rand.Rand) url.Values {
	day := func() string {
		if rng.IntN(20) == 0 {
			return choose(rng, "x", "", "2026-02-30", "0000-01-01", "9999-12-31", "-1")
		}
		return noon.AddDate(0, 0, 200-rng.IntN(900)).Format(time.DateOnly)
	}
	all := url.Values{
		"range": {choose(rng, "today", "yesterday", "week", "lastweek", "7d", "28d", "90d", "month", "lastmonth", "year", "lastyear", "12m", "all", "custom", "custom", "")},
		"from":  {day()}, "to": {day()},
		"by":       {choose(rng, "", "hour", "day", "week", "month", "banana")},
		"compare":  {choose(rng, "", "previous", "year", "custom", "none")},
		"since":    {day()},
		"weekdays": {choose(rng, "", "1")},
		"search":   {choose(rng, "", "A", "\xff", "%")},
		"page":     {choose(rng, "", "1", "2", "-7", "1000000")},
	}
	for range rng.IntN(3) {
		all.Add(choose(rng, "is", "is_not", "contains", "contains_not"), choose(rng, "page:/a", "event:paid", "source:", "prop:plan:pro", "prop:%3A:x", "goal:none", "device:Desktop", "nothing"))
	}
	return all
}

var (
	headlines   = regexp.MustCompile(`<dt>(Visitors|Pageviews|Events)</dt><dd class="big">([0-9,]+)</dd>`)
	tableHeader = regexp.MustCompile(`<th scope="col" class="n">(Visitors|Pageviews|Events)</th>`)
	tableLine   = regexp.MustCompile(`(?s)<tr><th scope="row">.*?</tr>`)
	tableNumber = regexp.MustCompile(`<td class="n">([0-9,]+)</td>`)
)

func headlineIsTheSumOfTheChart(t *testing.T, a answer) {
	t.Helper()
	number := func(text string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		require.NoError(t, err)
		return n
	}
	figures := between(a.body, `class="scroll"`, `</table>`)
	names := tableHeader.FindAllStringSubmatch(figures, -1)
	sums := make(map[string]int)
	for _, line := range tableLine.FindAllString(figures, -1) {
		numbers := tableNumber.FindAllStringSubmatch(line, -1)
		require.GreaterOrEqual(t, len(numbers), len(names), a.path)
		for i, name := range names {
			sums[name[1]] += number(numbers[i][1])
		}
	}
	for _, m := range headlines.FindAllStringSubmatch(a.body, -1) {
		if m[1] == "Visitors" && strings.Contains(figures, ">Hour (") {
			assert.LessOrEqual(t, number(m[2]), sums[m[1]], "a visitor has several hours: %s", a.path)
			continue
		}
		if _, shown := sums[m[1]]; shown {
			assert.Equal(t, number(m[2]), sums[m[1]], "%s of %s", m[1], a.path)
		}
	}
	assert.NotEmpty(t, sums, a.path)
}
