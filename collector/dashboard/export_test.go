package dashboard

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

func exportFixture(t *testing.T) (f *fixture, path string) {
	f = newFixture(t)
	site := f.site("Shop", "shop.example.com:8080")
	full := viewed(site.ID, "/a,\"b\"\nc", noon.Add(-2*time.Hour), 0xfeed)
	full.Referrer, full.Source, full.Medium, full.Campaign = "news.example", "letter", "email", nasty
	full.Browser, full.Device = "Firefox", "Mobile"
	paid := happened(site.ID, "paid", noon.Add(-time.Hour+250*time.Millisecond), 0, "plan", "pro", "amount", "49.90")
	paid.Props[1].Numeric = true
	f.add(viewed(site.ID, "/old", noon.AddDate(0, -6, 0), 5), full, paid)
	return f, "/sites/" + site.ID + "/export"
}

func TestJSONExportIsAnArrayOfEverythingInTheRange(t *testing.T) {
	t.Parallel()
	f, path := exportFixture(t)
	b := f.signedIn()
	a := b.page(path + ".json?range=30d")
	assert.Equal(t, "application/json", a.header.Get("Content-Type"))
	assert.Equal(t, `attachment; filename="shop.example.com_8080_2026-10-22_2026-11-20.json"`, a.header.Get("Content-Disposition"))
	var events []map[string]any
	decoder := json.NewDecoder(strings.NewReader(a.body))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&events))
	require.Len(t, events, 2)
	assert.Equal(t, map[string]any{
		"at": "2026-11-20T10:00:00.000Z", "name": "", "url": "https://shop.example.com/a,\"b\"\nc", "path": "/a,\"b\"\nc",
		"referrer": "news.example", "utm_source": "letter", "utm_medium": "email", "utm_campaign": nasty,
		"browser": "Firefox", "device": "Mobile", "visitor": "000000000000feed", "props": map[string]any{},
	}, events[0])
	assert.Equal(t, map[string]any{"plan": "pro", "amount": json.Number("49.90")}, events[1]["props"], "numbers as they were written")
	assert.Equal(t, "", events[1]["visitor"])
	for _, column := range exportColumns {
		assert.Contains(t, events[0], column)
	}
	require.NoError(t, json.Unmarshal([]byte(b.page(path+".json?range=all").body), &events))
	assert.Len(t, events, 3)
	require.NoError(t, json.Unmarshal([]byte(b.page(path+".json?range=custom&from=2020-01-01&to=2020-01-02").body), &events))
	assert.Empty(t, events)
}

func TestCSVExportReadsBack(t *testing.T) {
	t.Parallel()
	f, path := exportFixture(t)
	a := f.signedIn().page(path + ".csv?range=all")
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	assert.Equal(t, exportColumns, rows[0])
	assert.Equal(t, []string{
		"2026-11-20T10:00:00.000Z", "", "https://shop.example.com/a,\"b\"\nc", "/a,\"b\"\nc",
		"news.example", "letter", "email", nasty, "Firefox", "Mobile", "000000000000feed", "",
	}, rows[2])
	assert.Equal(t, []string{"2026-11-20T11:00:00.250Z", "paid"}, rows[3][:2])
	assert.Equal(t, `{"plan":"pro","amount":49.90}`, rows[3][11])
}

func TestCSVExportContainsNoFormulas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	for i, name := range []string{`=cmd|' /C calc'!A0`, "+1", "-1", "@SUM(A1)", "\tx", "\rx"} {
		f.add(happened(site.ID, name, noon.Add(time.Duration(i-60)*time.Second), 0))
	}
	rows, err := csv.NewReader(strings.NewReader(f.signedIn().page("/sites/" + site.ID + "/export.csv").body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 7)
	for _, row := range rows[1:] {
		assert.Equal(t, byte('\''), row[1][0], row[1])
	}
}

func TestAnExportOfAnInvalidRangeIsRefused(t *testing.T) {
	t.Parallel()
	f, path := exportFixture(t)
	b := f.signedIn()
	for query, reason := range map[string]string{
		"range=banana":                               "Range must be today, yesterday, week, lastweek, 7d, 28d, 30d, 90d, month, lastmonth, year, lastyear, 12m, all or custom.",
		"range=custom&from=x&to=2026-01-01":          "From must be a date such as 2026-01-31.",
		"range=custom&from=2026-01-02&to=2026-01-01": "To is before From.",
		"from=2026-01-02":                            "To must be a date such as 2026-01-31.",
	} {
		for _, kind := range []string{".csv", ".json"} {
			a := b.get(path + kind + "?" + query)
			assert.Equal(t, http.StatusUnprocessableEntity, a.status, query)
			assert.Contains(t, a.body, reason)
			assert.Contains(t, a.header.Get("Content-Type"), "text/html")
			assert.Empty(t, a.header.Get("Content-Disposition"))
		}
	}
}

// cut fails in the middle of an export.
type cut struct {
	store.Store
	after *int
}

func (c cut) Export(_ context.Context, _ store.Query, each func(store.Event) error) error {
	for range *c.after {
		if err := each(viewed("s", "/", noon, 1)); err != nil {
			return err
		}
	}
	return errors.New("the disk is gone")
}

// shut fails before an export has begun.
type shut struct{ store.Store }

func (shut) Export(context.Context, store.Query, func(store.Event) error) error {
	return errors.New("the disk is gone")
}

func TestAnExportThatCannotBeginIsAnErrorPage(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, func(c *Config) { c.Store = shut{c.Store} })
	site := f.site("Shop", "shop.example.com")
	a := f.signedIn().get("/sites/" + site.ID + "/export.csv")
	assert.Equal(t, http.StatusInternalServerError, a.status)
	assert.Contains(t, a.body, "Something went wrong")
	assert.Empty(t, a.header.Get("Content-Disposition"))
}

func TestACutExportSaysSoInTheFileAndByItsConnection(t *testing.T) {
	t.Parallel()
	events := 2000
	f := newFixtureWith(t, func(c *Config) { c.Store = cut{c.Store, &events} })
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	const notice = "This export is incomplete: it ended after 2,000 events because of an error, which the log of the service describes. Export again."
	body := b.begunAnswer("/sites/" + site.ID + "/export.csv")
	rows := csv.NewReader(strings.NewReader(body))
	for range 2001 { // and the header
		_, err := rows.Read()
		require.NoError(t, err)
	}
	last, err := rows.Read()
	assert.Equal(t, []string{notice}, last)
	assert.ErrorIs(t, err, csv.ErrFieldCount, "programs notice it, too")

	body = b.begunAnswer("/sites/" + site.ID + "/export.json")
	assert.True(t, strings.HasSuffix(body, ",\n"+`{"error":"export_incomplete","message":"`+notice+"\"}\n"), body[len(body)-300:])
	var objects []map[string]any
	require.NoError(t, json.Unmarshal([]byte(body+"]"), &objects), "it lacks only the end of the array")
	assert.Len(t, objects, 2001)
	assert.Equal(t, 2, strings.Count(f.log.String(), "the disk is gone"))

	for events = 1200; events < 2000; events += 30 { // whatever the buffers hold
		assert.Contains(t, b.begunAnswer("/sites/"+site.ID+"/export.csv"), count(int64(events))+" events because of an error")
	}
}

// removing is a store that removes the events of a site while it is exported.
type removing struct{ store.Store }

func (s removing) Export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	remove := sync.OnceValue(func() error { return s.Forget(ctx, q.Site, time.Time{}) })
	return s.Store.Export(ctx, q, func(e store.Event) error { return errors.Join(remove(), each(e)) })
}

func TestAnExportOfASiteThatIsDeletedMeanwhileSaysThatItWasCut(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "events.db"), Now: func() time.Time { return noon }})
	require.NoError(t, err)
	f := newFixtureWith(t, func(c *Config) { c.Store = removing{st} })
	t.Cleanup(func() { assert.NoError(t, st.Close()) })
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	const notice = "This export is incomplete: it ended after 1,000 events because other events of its range were removed meanwhile. Export again."
	for kind, end := range map[string]string{"csv": "\n\"" + notice + "\"\n", "json": ",\n" + `{"error":"export_incomplete","message":"` + notice + "\"}\n"} {
		var adding sync.WaitGroup
		for range 1001 { // an export reads a thousand at a time
			adding.Go(func() {
				_, err := st.Add(t.Context(), viewed(site.ID, "/", noon, 1))
				assert.NoError(t, err)
			})
		}
		adding.Wait()
		body := b.begunAnswer("/sites/" + site.ID + "/export." + kind)
		assert.True(t, strings.HasSuffix(body, end), body[len(body)-300:])
	}
	assert.Equal(t, 2, strings.Count(f.log.String(), "an export was cut"))
}

// begunAnswer returns the part of an answer that arrived before its connection was cut.
func (b *browser) begunAnswer(path string) string {
	b.t.Helper()
	res, err := b.client.Do(b.request(b.t.Context(), http.MethodGet, path, nil))
	require.NoError(b.t, err)
	defer func() { _ = res.Body.Close() }()
	assert.Equal(b.t, http.StatusOK, res.StatusCode)
	body, err := io.ReadAll(res.Body)
	assert.ErrorIs(b.t, err, io.ErrUnexpectedEOF, path)
	return string(body)
}

// stopped ends exports in the middle of the first one.
type stopped struct {
	store.Store
	end func()
}

func (s stopped) Export(_ context.Context, _ store.Query, each func(store.Event) error) error {
	for i := 0; ; i++ {
		if err := each(viewed("s", "/", noon, 1)); err != nil {
			return err
		}
		if i == 1499 {
			s.end()
		}
	}
}

func TestAnExportEndsWithTheService(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	f := newFixtureWith(t, func(c *Config) {
		c.Store, c.EndExports = stopped{c.Store, func() { close(end) }}, end
	})
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	body := b.begunAnswer("/sites/" + site.ID + "/export.csv")
	assert.True(t, strings.HasSuffix(body, "\n\"This export is incomplete: it ended after 1,500 events because the service was stopped. Export again.\"\n"), body[len(body)-300:])
	a := b.get("/sites/" + site.ID + "/export.csv")
	assert.Equal(t, http.StatusServiceUnavailable, a.status, "nothing was sent yet")
	assert.Contains(t, a.body, "The service is stopping")
}

func TestAHeadOfAnExportReadsNoEvents(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, func(c *Config) { c.Store = shut{c.Store} })
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	a := b.do(b.request(t.Context(), http.MethodHead, "/sites/"+site.ID+"/export.csv?range=all", nil))
	assert.Equal(t, http.StatusOK, a.status)
	assert.Equal(t, `attachment; filename="shop.example.com_all.csv"`, a.header.Get("Content-Disposition"))
}
