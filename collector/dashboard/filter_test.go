package dashboard

import (
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

func TestEachDimensionHasATable(t *testing.T) {
	t.Parallel()
	slugs := make(map[string]bool)
	for _, of := range store.Dimensions() {
		d := dimensionOf(of)
		assert.Equal(t, of, d.Dimension)
		slugs[d.Slug] = true
	}
	assert.Len(t, slugs, len(dimensions))
}

func TestEachFieldHasAWord(t *testing.T) {
	t.Parallel()
	for _, field := range store.TextFields() {
		got, _, ok := termOf(store.Is, field, "", "x").fieldOf()
		assert.True(t, ok)
		assert.Equal(t, field, got)
	}
	for _, o := range operators {
		assert.NoError(t, store.Filter{{Field: store.Path, Op: o.Op, Values: []string{"/"}}}.Check())
	}
}

// A filter in an address is the filter that was put there, whatever its keys and values are.
func TestAFilterIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(26, 0))
	texts := []string{"", "/", ":", "a:b", "%3A", "%", "&", "=", "ä", "\n", " x ", "prop:", "+", strings.Repeat("long", 100)}
	pick := func() string { return texts[rng.IntN(len(texts))] }
	for range 2000 {
		var want filter
		for range rng.IntN(5) {
			op := operators[rng.IntN(len(operators))].Op
			field := append([]store.Field{store.PropOf, store.Goal}, store.TextFields()...)[rng.IntN(10)]
			want = want.with(termOf(op, field, pick(), pick()))
		}
		query := url.Values{"range": {"7d"}}
		want.set(query)
		got, problem := readFilter(query)
		require.Empty(t, problem)
		require.ElementsMatch(t, want, got)
		for i, u := range got {
			key := strings.TrimPrefix(u.field, propPrefix)
			if field, read, ok := u.fieldOf(); ok && field == store.PropOf {
				require.Equal(t, key, url.QueryEscape(read))
			}
			require.Len(t, got.without(u), len(got)-1, "%d", i)
		}
	}
}

// shopFront is a site with pageviews of a newsletter and of an advertisement, and orders.
func shopFront(t *testing.T) (f *fixture, site account.Site) {
	t.Helper()
	f = newFixture(t)
	site = f.site("Shop", "shop.example.com")
	for visitor, source := range map[uint64]string{1: "newsletter", 2: "newsletter", 3: "ads"} {
		e := viewed(site.ID, "/", noon, visitor)
		e.Source = source
		f.add(e, viewed(site.ID, "/prices", noon, visitor))
	}
	f.add(happened(site.ID, "bought", noon, 1, "plan", "pro"), happened(site.ID, "bought", noon, 0, "plan", "free"))
	return f, site
}

// headline returns the figures that a page begins with, by their labels.
func headline(body string) map[string]string {
	all := make(map[string]string)
	for _, m := range regexp.MustCompile(`<dt>([^<]*)</dt><dd class="big">([^<]*)</dd>`).FindAllStringSubmatch(body, -1) {
		all[m[1]] = m[2]
	}
	return all
}

func TestARowNarrowsThePageAndAChipWidensItAgain(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	b := f.signedIn()
	body := b.page("/sites/" + site.ID).body
	assert.Equal(t, map[string]string{"Visitors": "3", "Pageviews": "6", "Events": "2"}, headline(body))
	row := regexp.MustCompile(`<a href="([^"]*)" title="newsletter">newsletter</a>`).FindStringSubmatch(body)
	require.NotNil(t, row)

	narrow := b.page(html.UnescapeString(row[1])).body
	assert.Equal(t, map[string]string{"Visitors": "2", "Pageviews": "2", "Events": "0"}, headline(narrow))
	assert.Contains(t, narrow, `Source is <b>newsletter</b>`)
	assert.NotContains(t, narrow, `title="ads"`)
	assert.Contains(t, narrow, `<input type="hidden" name="is" value="source:newsletter">`, "another range keeps the condition")
	for _, page := range []string{"/goals?", "/events?", "/top/pages?", "/export.csv?"} {
		assert.Equal(t, http.StatusOK, b.get("/sites/"+site.ID+page+"is=source%3Anewsletter").status, page)
	}
	wide := regexp.MustCompile(`Source is <b>newsletter</b></span> <a href="([^"]*)"`).FindStringSubmatch(narrow)
	require.NotNil(t, wide)
	assert.Equal(t, headline(body), headline(b.page(html.UnescapeString(wide[1])).body))
}

func TestAValueCanBeExcluded(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	b := f.signedIn()
	not := regexp.MustCompile(`href="([^"]*)">Without these<span class="hidden">: ads<`).FindStringSubmatch(b.page("/sites/" + site.ID).body)
	require.NotNil(t, not)
	body := b.page(html.UnescapeString(not[1])).body
	assert.Equal(t, map[string]string{"Visitors": "3", "Pageviews": "5", "Events": "2"}, headline(body), "pageviews without a source stay")
	assert.Contains(t, body, `Source is not <b>ads</b>`)
}

func TestSeveralValuesOfAConditionAreAlternatives(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	body := f.signedIn().page("/sites/" + site.ID + "?is=source:ads&is=source:newsletter&is=page:/").body
	assert.Equal(t, map[string]string{"Visitors": "3", "Pageviews": "3", "Events": "0"}, headline(body))
}

func TestAGoalShowsWhatItsVisitorsDid(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	_, err := f.account.SaveGoal(t.Context(), account.Goal{Site: site.ID, Name: "Order", Match: store.Match{Event: "bought"}})
	require.NoError(t, err)
	b := f.signedIn()
	reached := regexp.MustCompile(`href="([^"]*)">Visitors who reached it`).FindStringSubmatch(b.page("/sites/" + site.ID + "/goals?range=7d").body)
	require.NotNil(t, reached)
	body := b.page(html.UnescapeString(reached[1])).body
	assert.Equal(t, map[string]string{"Visitors": "1", "Pageviews": "2", "Events": "2"}, headline(body))
	assert.Contains(t, body, `Goal is <b>Order</b>`)
	assert.Contains(t, body, `title="/prices"`)
}

func TestTheFormOfAConditionLeadsToItsAddress(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	b := f.signedIn()
	for form, want := range map[string]string{
		"field=source&op=is&value=ads&key=":                  "is=source%3Aads",
		"field=page&op=contains_not&value=+pri+":             "contains_not=page%3Apri",
		"field=prop%3A&key=pl%3Aan&op=is&value=pro":          "is=prop%3Apl%253Aan%3Apro",
		"field=source&op=is&value=ads&is=page:/&range=7d":    "is=page%3A%2F&is=source%3Aads&range=7d",
		"field=source&op=is_not&value=ads&is=source:ads":     "is_not=source%3Aads",
		"field=source&op=is&value=ads&is=source:ads&sum=one": "is=source%3Aads&sum=one",
	} {
		a := b.get("/sites/" + site.ID + "?" + form)
		assert.Equal(t, http.StatusSeeOther, a.status, form)
		assert.Equal(t, "/sites/"+site.ID+"?"+want, a.header.Get("Location"), form)
	}
}

func TestAFilterThatCannotBeIsExplained(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	b := f.signedIn()
	for query, want := range map[string]string{
		"is=colour:red":                          "has a condition that does not exist, which was left out: is=colour:red.",
		"is=source":                              "has a condition that does not exist",
		"is=goal:goal_gone":                      "has a goal that does not exist any more",
		"contains=page:":                         "has an empty value",
		"is=page:" + strings.Repeat("*", 10_000): "is longer than 2048 bytes",
		"is=page:/&is=source:ads":                "",
	} {
		a := b.get("/sites/" + site.ID + "?" + query)
		if want == "" {
			assert.Equal(t, http.StatusOK, a.status, query)
			continue
		}
		assert.Equal(t, http.StatusUnprocessableEntity, a.status, query)
		assert.Contains(t, html.UnescapeString(a.body), want)
		assert.Equal(t, http.StatusUnprocessableEntity, b.get("/sites/"+site.ID+"/export.csv?"+query).status)
	}
	var many strings.Builder
	for i := range 1000 {
		many.WriteString("is=page:/" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + "&")
	}
	a := b.get("/sites/" + site.ID + "?" + many.String())
	assert.Equal(t, http.StatusUnprocessableEntity, a.status)
	assert.Contains(t, a.body, "100 values at most")
}

func TestTheFormOfAConditionSuggestsTheValuesOfThePage(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	b := f.signedIn()
	for page, want := range map[string]string{
		"":                    `<datalist id="filter-known"><option value="/"><option value="/prices"><option value="bought"><option value="newsletter"><option value="ads"></datalist>`,
		"/top/sources":        `<datalist id="filter-known"><option value="newsletter"><option value="ads"></datalist>`,
		"/events?name=bought": `<datalist id="filter-known"><option value="/cart"></datalist>`,
	} {
		assert.Contains(t, b.page("/sites/"+site.ID+page).body, want)
	}
	assert.NotContains(t, b.page("/sites/"+site.ID+"/top/mediums").body, "datalist")
}

func TestAnExportObeysTheFilter(t *testing.T) {
	t.Parallel()
	f, site := shopFront(t)
	b := f.signedIn()
	lines := func(query string) int {
		return strings.Count(b.get("/sites/"+site.ID+"/export.csv?"+query).body, "\n") - 1
	}
	assert.Equal(t, 8, lines("range=30d"))
	assert.Equal(t, 2, lines("range=30d&is=source:newsletter"))
	assert.Equal(t, 2, lines("range=all&is=source:newsletter"))
	assert.Equal(t, 1, lines("range=30d&is=prop:plan:pro"))
}
