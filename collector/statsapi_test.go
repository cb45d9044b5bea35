package collector

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
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

// While as many queries run as may, others wait for a place, and events are stored.
func TestQueriesAtOnceAreBoundedAndEventsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		most := maxQueries()
		s := prepare(t, Config{Store: failingReports{Store: storetest.NewReference(), wait: true}})
		key := s.statsKey(t)
		answers := make(chan *httptest.ResponseRecorder, most+64)
		ctx, leave := context.WithCancel(t.Context())
		ask := func(ctx context.Context) {
			r := httptest.NewRequestWithContext(ctx, "GET", "/stats/v1/totals?site_id="+s.site.ID, nil)
			r.Header.Set("Authorization", "Bearer "+key)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			answers <- w
		}
		go ask(ctx)
		for range most - 1 {
			go ask(t.Context())
		}
		synctest.Wait()
		for range 64 {
			go ask(t.Context())
		}
		synctest.Wait()
		assert.Len(t, s.queries, most)
		assert.Empty(t, answers)
		r := httptest.NewRequest("POST", "/v1/events", strings.NewReader(s.event("x", pageURL, "{}")))
		r.Header.Set("Authorization", "Bearer "+s.key)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		assert.Equal(t, 202, w.Code)

		leave()
		synctest.Wait()
		assert.Len(t, answers, 1, "the client that left")
		assert.Len(t, s.queries, most, "another query has its place")
		<-answers
		time.Sleep(queryWait)
		synctest.Wait()
		require.Len(t, answers, 63)
		for range 63 {
			w := <-answers
			assert.Equal(t, 429, w.Code)
			assert.Equal(t, "1", w.Header().Get("Retry-After"))
		}
		time.Sleep(queryTimeout)
		synctest.Wait()
		require.Len(t, answers, most)
		for range most {
			assert.Equal(t, 422, (<-answers).Code)
		}
		assert.Empty(t, s.queries)
	})
}

// The API and the file of a table have the same rows for the same question, and the totals of the API are the sum of its series.
func TestTheStatsAPIAgreesWithTheDashboard(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(5, seed))
		st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "footfall.db")})
		require.NoError(t, err)
		t.Cleanup(func() { st.Close() }) // runs after the cleanup of the service
		s := serve(t, Config{Store: withPassword(t, st)})
		fillRandomly(t, s, rng)
		s.site.Zone = []string{"UTC", "America/Los_Angeles", "Asia/Kathmandu", "Australia/Lord_Howe"}[seed]
		require.NoError(t, s.Account().ChangeSite(t.Context(), s.site))
		goal, err := s.Account().SaveGoal(t.Context(), account.Goal{Site: s.site.ID, Name: "Bought", Match: store.Match{Event: "paid"}})
		require.NoError(t, err)
		cookies, key := s.signIn(t), s.statsKey(t)
		compared := 0
		for range 25 {
			slug := pick(rng, slices.Sorted(maps.Keys(tableDimensions))...)
			conditions, filters := randomConditions(t, rng, goal.ID)
			days := pick(rng, "today", "7d", "30d", "week", "month", "year", "all", "custom")
			address, asked := url.Values{"range": {days}}, days
			if days == "custom" {
				from, to := time.Now().AddDate(0, 0, -10-rng.IntN(40)).Format(time.DateOnly), time.Now().AddDate(0, 0, -rng.IntN(10)).Format(time.DateOnly)
				address.Set("from", from)
				address.Set("to", to)
				asked = from + "," + to
			}
			for _, c := range conditions {
				address.Add(c[0], c[1])
			}
			query := url.Values{"site_id": {s.site.ID}, "date_range": {asked}, "filters": {filters}, "format": {"csv"}}
			file := s.do(t, "GET", "/sites/"+s.site.ID+"/top/"+slug+".csv?"+address.Encode(), "", "Cookie", cookies)
			require.Equal(t, 200, file.status, file.body)
			table := maps.Clone(query)
			table.Set("dimension", tableDimensions[slug])
			table.Set("metrics", map[bool]string{true: "events", false: "pageviews"}[slug == "names" || slug == "event-pages"]+",visitors")
			table.Set("limit", "10000")
			got := s.records(t, key, "table", table)
			assert.Equal(t, rowsOf(t, file.body), got, "seed %d: %s %v", seed, slug, address)
			compared += len(got)
			series := maps.Clone(query)
			series.Set("by", pick(rng, "day", "week", "month"))
			assert.Equal(t, s.records(t, key, "totals", query)[0], sumOf(t, s.records(t, key, "series", series)), "seed %d: %v", seed, address)
		}
		assert.Greater(t, compared, 25, "the tables have rows")
	}
}

func TestPostedQueryIsAnsweredInCSVOnRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	storetest.Add(t, s.store, store.Event{Site: s.site.ID, At: time.Now().UTC().Truncate(time.Millisecond), URL: pageURL, Path: "/", Source: "=1+1", Visitor: 1})
	body := `{"site_id":"` + s.site.ID + `","metrics":["pageviews"],"date_range":"year","dimensions":["visit:source"]}`
	got := s.do(t, "POST", "/stats/v1/query", body, "Authorization", "Bearer "+s.statsKey(t), "Content-Type", "application/json", "Accept", "text/csv")
	assert.Equal(t, "visit:source,pageviews\n'=1+1,1\n", got.body, "a formula is guarded")
	assert.Equal(t, "text/csv; charset=utf-8", got.header.Get("Content-Type"))
}

// tableDimensions are the dimensions of tables of the dashboard.
var tableDimensions = map[string]string{
	"pages": "event:page", "sources": "visit:source", "names": "event:name", "browsers": "visit:browser", "event-pages": "event:page", "referrers": "visit:referrer",
}

// randomConditions returns up to two conditions, as parameters of the dashboard and as filters of the API.
func randomConditions(t *testing.T, rng *rand.Rand, goal string) (address [][2]string, filters string) {
	t.Helper()
	words := map[string]string{"page": "event:page", "source": "visit:source", "event": "event:name", "prop:plan": "event:props:plan"}
	values := map[string][]string{"page": {"/a", "/", "ü"}, "source": {"news", "ads"}, "event": {"paid", "sign"}, "prop:plan": {"pro", "fre"}}
	list := [][]any{}
	for range rng.IntN(3) {
		if rng.IntN(4) == 0 {
			op := pick(rng, "is", "is_not")
			address = append(address, [2]string{op, "goal:" + goal})
			list = append(list, []any{op, "event:goal", []string{"Bought"}})
			continue
		}
		op, word := pick(rng, "is", "is_not", "contains", "contains_not"), pick(rng, slices.Sorted(maps.Keys(words))...)
		value := pick(rng, values[word]...)
		address = append(address, [2]string{op, word + ":" + value})
		list = append(list, []any{op, words[word], []string{value}})
	}
	// The dashboard joins terms of one field and operator to one condition, and the API does not.
	for i := range list {
		for j := range i {
			if list[i][1] == list[j][1] {
				return randomConditions(t, rng, goal)
			}
		}
	}
	data, err := json.Marshal(list)
	require.NoError(t, err)
	return address, string(data)
}

// records returns the records of a flat query in CSV, without the header.
func (s *service) records(t *testing.T, key, path string, query url.Values) [][]string {
	t.Helper()
	got := s.stats(t, key, "GET", "/stats/v1/"+path+"?"+query.Encode(), "")
	require.Equal(t, 200, got.status, got.body)
	return rowsOf(t, got.body)
}

// sumOf adds up the metrics of a series.
func sumOf(t *testing.T, series [][]string) []string {
	t.Helper()
	sums := make([]int, 3)
	for _, record := range series {
		for i, text := range record[1:] {
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			sums[i] += n
		}
	}
	return []string{strconv.Itoa(sums[0]), strconv.Itoa(sums[1]), strconv.Itoa(sums[2])}
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
	for i := range 400 {
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
