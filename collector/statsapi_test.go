package collector

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// stats sends a request with a key for stats.
func (s *service) stats(t testing.TB, key, method, path, body string) answer {
	t.Helper()
	return s.do(t, method, path, body, "Authorization", "Bearer "+key, "Content-Type", "application/json")
}

func (s *service) statsKey(t testing.TB) string {
	t.Helper()
	key, _, err := s.Account().IssueKeyFor(t.Context(), account.ScopeStats, "figures")
	require.NoError(t, err)
	return key
}

func TestEachKeyHasOneScope(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	key := s.statsKey(t)
	query := `{"site_id":"` + s.site.ID + `","metrics":["events"],"date_range":"day"}`
	assert.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}")).status)
	assert.Equal(t, 200, s.stats(t, key, "POST", "/stats/v1/query", query).status)
	got := s.stats(t, key, "POST", "/v1/events", s.event("x", pageURL, "{}"))
	assert.Equal(t, 403, got.status)
	assert.JSONEq(t, `{"error":"forbidden","message":"this API key is for stats: send events with a key for events","status":403}`, got.body)
	for _, path := range []string{"/stats/v1/query", "/stats/v1/totals"} {
		method := map[bool]string{true: "POST", false: "GET"}[strings.HasSuffix(path, "query")]
		got = s.stats(t, s.key, method, path, query)
		assert.Equal(t, 403, got.status)
		assert.JSONEq(t, `{"error":"forbidden","message":"this API key is for events: read figures with a key for stats","status":403}`, got.body)
		assert.Equal(t, 401, s.stats(t, "ffk_wrong", method, path, query).status)
	}
	assert.Equal(t, 200, s.stats(t, key, "GET", "/v1/sites", "").status, "each key lists the sites")
}

func TestRefusalsOfTheStatsAPI(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	key := s.statsKey(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		message            string
	}{
		{"GET", "/stats/v1/query", "", 405, "this path accepts POST"},
		{"POST", "/stats/v1/totals", "{}", 405, "this path accepts GET"},
		{"GET", "/stats/v1/nothing", "", 404, "there is no such path"},
		{"GET", "/stats/", "", 404, "there is no such path"},
		{"POST", "/stats/v1/query", `{"site_id":"none","metrics":["events"],"date_range":"day"}`, 404, `there is no site with the id \"none\"`},
		{"GET", "/stats/v1/totals?site_id=none", "", 404, `there is no site with the id \"none\"`},
		{"POST", "/stats/v1/query", `{}`, 400, "site_id: is missing"},
		{"POST", "/stats/v1/query", `{"site_id":"` + s.site.ID + `"}`, 400, "metrics: must name"},
		{"POST", "/stats/v1/query", strings.Repeat(" ", store.MaxBody+1), 413, "body: larger than"},
		{"GET", "/stats/v1/totals?site_id=%zz", "", 400, "query: is not a valid query of a URL"},
		{"GET", "/stats/v1/table?site_id=" + s.site.ID, "", 400, "dimension: is missing"},
	} {
		got := s.stats(t, key, c.method, c.path, c.body)
		assert.Equal(t, c.status, got.status, c.path)
		assert.Contains(t, got.body, c.message, c.path)
	}
	got := s.do(t, "POST", "/stats/v1/query", "{}", "Authorization", "Bearer "+key, "Content-Type", "text/plain")
	assert.Equal(t, 415, got.status)
}

// failingReports is a store whose reports fail, or wait for the end of their context.
type failingReports struct {
	store.Store
	err  error
	wait bool // until their context ends
}

func (s failingReports) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	if s.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.Store.Ask(ctx, q, questions...)
}

func TestQueryThatFailsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct {
		status  int
		message string
	}{
		store.ErrTooLarge:        {422, "ask for a shorter range"},
		context.DeadlineExceeded: {422, "took longer than 20s: ask for a shorter range"},
		errors.New("broken"):     {503, "the log of the service says why"},
	} {
		s := serve(t, Config{Store: failingReports{Store: storetest.NewReference(), err: err}})
		got := s.stats(t, s.statsKey(t), "GET", "/stats/v1/totals?site_id="+s.site.ID, "")
		assert.Equal(t, want.status, got.status)
		assert.Contains(t, got.body, want.message)
	}
}

// While as many queries run as may, others are refused at once, and events are stored.
func TestQueriesAtOnceAreBoundedAndEventsGoOn(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{Store: failingReports{Store: storetest.NewReference(), wait: true}})
	key := s.statsKey(t)
	path := "/stats/v1/totals?site_id=" + s.site.ID
	ctx, leave := context.WithCancel(t.Context())
	for range maxQueries {
		r, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		go func() {
			if response, err := http.DefaultClient.Do(r); err == nil {
				response.Body.Close()
			}
		}()
	}
	require.Eventually(t, func() bool { return len(s.queries) == maxQueries }, 10*time.Second, time.Millisecond)
	for range 64 {
		got := s.stats(t, key, "GET", path, "")
		assert.Equal(t, 429, got.status)
		assert.Equal(t, "1", got.header.Get("Retry-After"))
	}
	assert.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}")).status)
	leave()
	require.Eventually(t, func() bool { return len(s.queries) == 0 }, 10*time.Second, time.Millisecond, "a client that leaves ends its query")
}

// The API, the page and the file of a table have the same rows for the same question.
func TestTheStatsAPIAgreesWithTheDashboard(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "footfall.db")})
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() }) // runs after the cleanup of the service
	s := serve(t, Config{Store: withPassword(t, st)})
	fillRandomly(t, s, rng)
	cookies, key := s.signIn(t), s.statsKey(t)
	tables := map[string]string{
		"pages": "event:page", "sources": "visit:source", "names": "event:name", "browsers": "visit:browser", "event-pages": "event:page", "referrers": "visit:referrer",
	}
	words := map[string]string{"page": "event:page", "source": "visit:source", "event": "event:name", "prop:plan": "event:props:plan"}
	compared := 0
	for range 60 {
		slug := pick(rng, "pages", "sources", "names", "browsers", "event-pages", "referrers")
		span, op, word := pick(rng, "today", "7d", "30d", "week", "month", "year"), pick(rng, "is", "is_not", "contains", "contains_not"), pick(rng, "page", "source", "event", "prop:plan")
		value := pick(rng, "/a", "news", "paid", "pro", "n")
		counted := map[bool]string{true: "events", false: "pageviews"}[slug == "names" || slug == "event-pages"]
		file := s.do(t, "GET", "/sites/"+s.site.ID+"/top/"+slug+".csv?"+url.Values{"range": {span}, op: {word + ":" + value}}.Encode(), "", "Cookie", cookies)
		require.Equal(t, 200, file.status, file.body)
		filters, err := json.Marshal([]any{[]any{op, words[word], []string{value}}})
		require.NoError(t, err)
		got := s.stats(t, key, "GET", "/stats/v1/table?"+url.Values{
			"site_id": {s.site.ID}, "date_range": {span}, "dimension": {tables[slug]}, "metrics": {counted + ",visitors"}, "limit": {"10000"}, "filters": {string(filters)}, "format": {"csv"},
		}.Encode(), "")
		require.Equal(t, 200, got.status, got.body)
		assert.Equal(t, rowsOf(t, file.body), rowsOf(t, got.body), "%s %s %s %s %s", slug, span, op, word, value)
		compared += len(rowsOf(t, got.body))
	}
	assert.Greater(t, compared, 60, "the tables have rows")
	body := `{"site_id":"` + s.site.ID + `","metrics":["pageviews"],"date_range":"year","dimensions":["visit:source"]}`
	got := s.do(t, "POST", "/stats/v1/query", body, "Authorization", "Bearer "+key, "Content-Type", "application/json", "Accept", "text/csv")
	assert.Contains(t, got.body, "\n'=1+1,", "a formula is guarded")
	assert.Equal(t, "text/csv; charset=utf-8", got.header.Get("Content-Type"))
}

func rowsOf(t *testing.T, text string) [][]string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	return records[1:]
}

func pick(rng *rand.Rand, of ...string) string { return of[rng.IntN(len(of))] }

func fillRandomly(t *testing.T, s *service, rng *rand.Rand) {
	t.Helper()
	for i := range 800 {
		path := pick(rng, "/", "/a", "/a/b", "/ü")
		e := store.Event{
			Site: s.site.ID, At: time.Now().UTC().AddDate(0, 0, -rng.IntN(60)).Truncate(time.Millisecond), Name: pick(rng, "", "", "paid", "signup"),
			URL: "https://" + domain + path, Path: path, Source: pick(rng, "", "news", "ads", "=1+1"), Referrer: pick(rng, "", "n.example"), Browser: pick(rng, "Firefox", "Edge"),
			Visitor: uint64(rng.IntN(40)), Key: fmt.Sprint(i),
		}
		if e.Name != "" {
			e.Props = []store.Prop{{Key: "plan", Value: pick(rng, "pro", "free")}}
		} else {
			e.Visitor++
		}
		storetest.Add(t, s.store, e)
	}
}

// The examples of docs/stats.md work.
func TestExamplesOfTheStatsAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/stats.md")
	require.NoError(t, err)
	s := serve(t, Config{})
	_, err = s.Account().SaveGoal(t.Context(), account.Goal{Site: s.site.ID, Name: "Bought", Match: store.Match{Event: "order_placed"}})
	require.NoError(t, err)
	key := s.statsKey(t)
	examples := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if body := strings.ReplaceAll(block[1], "site_3f9c", s.site.ID); strings.Contains(body, "site_id") {
			got := s.stats(t, key, "POST", "/stats/v1/query", body)
			assert.Equal(t, 200, got.status, "%s: %s", body, got.body)
			examples++
		}
	}
	for _, path := range regexp.MustCompile(`/stats/v1/(?:totals|series|table)\?[^'"\s`+"`"+`]+`).FindAllString(string(text), -1) {
		got := s.stats(t, key, "GET", strings.ReplaceAll(path, "site_3f9c", s.site.ID), "")
		assert.Equal(t, 200, got.status, "%s: %s", path, got.body)
		examples++
	}
	assert.GreaterOrEqual(t, examples, 8)
}
