package dashboard

import (
	"context"
	"encoding/csv"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// Following the links from page to page shows each row once, in the order of the file with all rows.
func TestPagesOfATableShowEachRowOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	for i := range 2*longTable + 3 {
		for range 1 + i%3 {
			e := viewed(site.ID, fmt.Sprintf("/p%04d", i), noon.Add(-time.Hour), uint64(i+1))
			e.Source = map[bool]string{true: "news", false: "ads"}[i%2 == 0]
			f.add(e)
		}
	}
	b := f.signedIn()
	for query, rows := range map[string]int{"range=7d": 1003, "range=7d&search=P00": 100, "range=7d&is=source:news": 502} {
		var shown []string
		path := "/sites/" + site.ID + "/top/pages?" + query
		file := ""
		for path != "" {
			body := b.page(path).body
			for _, m := range regexp.MustCompile(`title="(/p[0-9]+)"`).FindAllStringSubmatch(body, -1) {
				shown = append(shown, m[1])
			}
			if m := regexp.MustCompile(`<a href="([^"]*)" download>All rows`).FindStringSubmatch(body); m != nil {
				file = html.UnescapeString(m[1])
			}
			path = ""
			if m := regexp.MustCompile(`<a href="([^"]*)" rel="next">More rows`).FindStringSubmatch(body); m != nil {
				path = html.UnescapeString(m[1])
			}
		}
		assert.Len(t, shown, rows, query)
		a := b.page(file)
		assert.Equal(t, `attachment; filename="shop.example.com_pages_2026-11-14_2026-11-20.csv"`, a.header.Get("Content-Disposition"))
		records, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		require.NoError(t, err)
		assert.Equal(t, []string{"page", "pageviews", "visitors"}, records[0])
		var all []string
		for _, record := range records[1:] {
			all = append(all, record[0])
		}
		assert.Equal(t, all, shown, query)
	}
}

func TestTableSaysWhenNothingIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1))
	b := f.signedIn()
	path := "/sites/" + site.ID + "/top/pages"
	assert.Contains(t, b.page(path+"?search=%3Cb%3E").body, "Nothing in this range contains “&lt;b&gt;”.")
	assert.Contains(t, b.page(path+"?search="+strings.Repeat("ü", 500)).body, "Nothing in this range")
	for _, page := range []string{"0", "-1", "x", "201", "99999999999999999999"} {
		assert.Contains(t, b.page(path+"?page="+page).body, `title="/"`, "page %s is the first one", page)
	}
	assert.Equal(t, http.StatusNotFound, b.get(path+".xls").status)
	assert.Equal(t, http.StatusNotFound, b.get("/sites/"+site.ID+"/top/nothing.csv").status)
	for _, query := range []string{"range=banana", "is=nothing:x"} {
		assert.Equal(t, http.StatusUnprocessableEntity, b.get(path+".csv?"+query).status, "a file has no place for a problem")
	}
}

// A spreadsheet must not read a path as a formula, and must be able to tell a table that was cut.
func TestFileOfATableIsSafeAndSaysIfItWasCut(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, func(c *Config) { c.Store = cutTables{c.Store} })
	site := f.site("Shop", "shop.example.com")
	e := viewed(site.ID, "/", noon, 1)
	e.Source = "=1+1"
	f.add(e)
	body := f.signedIn().page("/sites/" + site.ID + "/top/sources.csv").body
	assert.Equal(t, "source,pageviews,visitors\n'=1+1,1,1\n\"This table is incomplete: it has the first 100,000 rows only.\"\n", body)
}

// cutTables is a store that says of each table that there are more rows.
type cutTables struct{ store.Store }

func (s cutTables) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	answers, err := s.Store.Ask(ctx, q, questions...)
	for i := range answers {
		answers[i].More = true
	}
	return answers, err
}
