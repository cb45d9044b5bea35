package main

import (
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// send sends a request and returns the status of the answer.
func send(t *testing.T, method, address, content string, header http.Header) int {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(content))
	require.NoError(t, err)
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	response.Body.Close()
	return response.StatusCode
}

func body(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	return string(text)
}

// valueOf returns the value of a metric, with its labels, in a scrape.
func valueOf(t *testing.T, scrape, metric string) float64 {
	t.Helper()
	for line := range strings.Lines(scrape) {
		if text, ok := strings.CutPrefix(line, metric+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(t, err)
			return value
		}
	}
	t.Fatalf("there is no %s in\n%s", metric, scrape)
	return 0
}

func TestMetricsCountEventsByOutcome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, key := withSite(t, dir)
	c := start(t, "-listen", "127.0.0.1:0", "-data", dir, "-metrics", "127.0.0.1:0")
	for range 3 {
		c.post(t, site, key)
	}
	require.Equal(t, 401, c.try(t, site, "wrong"))
	require.Equal(t, 404, c.try(t, "site_none", key))
	require.Equal(t, 405, send(t, "GET", c.url+"/v1/events", "", http.Header{"Authorization": {"Bearer " + key}}))
	view := `{"s":"shop.example.com","u":"https://shop.example.com/"}`
	for agent, times := range map[string]int{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": 2, "Googlebot/2.1": 1} {
		for range times {
			require.Equal(t, 202, send(t, "POST", c.url+"/e", view, http.Header{"Content-Type": {"text/plain"}, "User-Agent": {agent}}))
		}
	}
	require.Equal(t, 400, send(t, "POST", c.url+"/e", "{}", http.Header{"Content-Type": {"text/plain"}}))

	var want strings.Builder
	want.WriteString("# HELP footfall_events_total Events that were sent, by source and outcome.\n# TYPE footfall_events_total counter\n")
	counts := map[string]int{
		"api stored": 3, "api unauthorized": 1, "api not_found": 1, "api method_not_allowed": 1,
		"browser stored": 2, "browser ignored": 1, "browser validation_failed": 1,
	}
	for _, source := range []string{"api", "browser"} {
		for _, outcome := range outcomesIn(t) {
			want.WriteString(`footfall_events_total{outcome="` + outcome + `",source="` + source + `"} ` + strconv.Itoa(counts[source+" "+outcome]) + "\n")
		}
	}
	assert.NoError(t, testutil.ScrapeAndCompare(c.metrics, strings.NewReader(want.String()), "footfall_events_total"))

	scrape := body(t, c.metrics)
	for labels, n := range map[string]int{
		`endpoint="events",status="202"`: 3, `endpoint="events",status="401"`: 1, `endpoint="events",status="404"`: 1, `endpoint="events",status="405"`: 1,
		`endpoint="browser",status="202"`: 3, `endpoint="browser",status="400"`: 1,
	} {
		assert.EqualValues(t, n, valueOf(t, scrape, "footfall_answer_duration_seconds_count{"+labels+"}"))
	}
	assert.Zero(t, valueOf(t, scrape, "footfall_pending_events"))
	assert.EqualValues(t, 5, valueOf(t, scrape, "footfall_commit_duration_seconds_count"), "events one after the other share no commit")
	assert.EqualValues(t, 5, valueOf(t, scrape, "footfall_commit_events_sum"))
	assert.Greater(t, valueOf(t, scrape, "footfall_commit_duration_seconds_sum"), 0.0)
	assert.Greater(t, valueOf(t, scrape, `footfall_store_size_bytes{file="database"}`), 1000.0)
	assert.Greater(t, valueOf(t, scrape, `footfall_store_size_bytes{file="log"}`), 1000.0)
	assert.EqualValues(t, 1, valueOf(t, scrape, `footfall_build_info{version="`+version()+`"}`))
	assert.Greater(t, valueOf(t, scrape, "go_goroutines"), 1.0)
	problems, err := promlint.New(strings.NewReader(scrape)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	require.NoError(t, c.stop())
	_, err = http.Get(c.metrics)
	assert.Error(t, err, "the listener of metrics is closed, too")
}

// outcomesIn returns the codes of errors that the documentation of package collector lists, and
// the two outcomes without an error.
func outcomesIn(t *testing.T) []string {
	t.Helper()
	doc, err := os.ReadFile("../../doc.go")
	require.NoError(t, err)
	names := []string{"stored", "ignored"}
	for _, found := range regexp.MustCompile(`(?m)^//\t\d{3} ([a-z_]+) `).FindAllSubmatch(doc, -1) {
		names = append(names, string(found[1]))
	}
	require.Len(t, names, 14)
	slices.Sort(names)
	return names
}

// signIn returns a client with a session of the dashboard.
func (c *service) signIn(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	response, err := browser.PostForm(c.url+"/login", url.Values{"password": {"correct horse battery"}})
	require.NoError(t, err)
	response.Body.Close()
	return browser
}

func TestMetricsMeasureReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, key := withSite(t, dir)
	c := start(t, "-listen", "127.0.0.1:0", "-data", dir, "-metrics", "127.0.0.1:0")
	c.post(t, site, key)
	browser := c.signIn(t)
	before := valueOf(t, body(t, c.metrics), `footfall_report_duration_seconds_count{report="ask"}`)
	for range 2 {
		response, err := browser.Get(c.url + "/sites/" + site)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, 200, response.StatusCode)
	}
	scrape := body(t, c.metrics)
	assert.GreaterOrEqual(t, valueOf(t, scrape, `footfall_report_duration_seconds_count{report="ask"}`), before+4, "now and the period before, twice; the start asks, too")
	assert.Greater(t, valueOf(t, scrape, `footfall_report_duration_seconds_sum{report="ask"}`), 0.0)
	require.NoError(t, c.stop())
}

func TestMetricsAreOffByDefaultAndNeverOnThePublicListener(t *testing.T) {
	t.Parallel()
	c := start(t, "-listen", "127.0.0.1:0", "-data", t.TempDir())
	assert.Empty(t, c.metrics)
	require.NoError(t, c.stop())

	c = start(t, "-listen", "127.0.0.1:0", "-data", t.TempDir(), "-metrics", "127.0.0.1:0")
	for _, address := range []string{c.url + "/metrics", strings.TrimSuffix(c.metrics, "metrics") + "healthz"} {
		response, err := http.DefaultTransport.RoundTrip(must(http.NewRequest("GET", address, nil)))
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body.Close()
		assert.NotEqual(t, 200, response.StatusCode, address)
		assert.NotContains(t, string(text), "footfall_", address)
	}
	require.NoError(t, c.stop())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestErrorOfATakenAddressOfMetricsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	err = run(t.Context(), []string{"-listen", "127.0.0.1:0", "-metrics", taken.Addr().String(), "-data", t.TempDir()}, noEnv, io.Discard, io.Discard)
	assert.ErrorContains(t, err, "choose another address with -metrics")
}

func TestDocumentationListsEachMetric(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/deploy.md")
	require.NoError(t, err)
	var listed, served []string
	for _, found := range regexp.MustCompile("(?m)^\\| `(footfall_[a-z_]+)").FindAllSubmatch(page, -1) {
		listed = append(listed, string(found[1]))
	}
	c := start(t, "-listen", "127.0.0.1:0", "-data", t.TempDir(), "-metrics", "127.0.0.1:0")
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (footfall_[a-z_]+) `).FindAllStringSubmatch(body(t, c.metrics), -1) {
		served = append(served, found[1])
	}
	require.NoError(t, c.stop())
	assert.ElementsMatch(t, served, listed)
	assert.NotEmpty(t, served)
}

func TestMetricsShowTheStateOfTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, key := withSite(t, dir)
	c := start(t, "-listen", "127.0.0.1:0", "-data", dir, "-metrics", "127.0.0.1:0")
	c.post(t, site, key)
	scrape := body(t, c.metrics)
	for _, name := range []string{"store_free_bytes", "store_unswept_texts", "store_expired_keys", "store_compaction_backlog", "last_backup_timestamp_seconds"} {
		assert.Zero(t, valueOf(t, scrape, "footfall_"+name), name)
	}
	assert.Greater(t, valueOf(t, scrape, "footfall_store_free_text_ids"), 4e9)
	require.NoError(t, run(t.Context(), []string{"backup", "-data", dir, filepath.Join(dir, "backup.db")}, noEnv, io.Discard, io.Discard))
	assert.InDelta(t, float64(time.Now().Unix()), valueOf(t, body(t, c.metrics), "footfall_last_backup_timestamp_seconds"), 600)
	require.NoError(t, c.stop())
}

func TestMetricsAreThereIfTheTimeOfTheLastBackupCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "footfall.db-last-backup"), 0o700)) // also for root
	c := start(t, "-listen", "127.0.0.1:0", "-data", dir, "-metrics", "127.0.0.1:0")
	scrape := body(t, c.metrics)
	assert.Zero(t, valueOf(t, scrape, "footfall_last_backup_timestamp_seconds"))
	assert.Greater(t, valueOf(t, scrape, "footfall_store_free_text_ids"), 4e9)
	require.NoError(t, c.stop())
}
