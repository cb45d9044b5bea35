package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStatsAreAskedForAndPrinted(t *testing.T) {
	t.Parallel()
	requests := make(chan string, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
		if r.Header.Get("Accept") == "text/csv" {
			w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			_, _ = io.WriteString(w, "event:page,visitors,pageviews\n\"/a,b\",3,40\n")
			return
		}
		_, _ = io.WriteString(w, `{"results":[{"dimensions":["/a,b"],"metrics":[3,40]},{"dimensions":["/\u001b[31m"],"metrics":[1,2]}],"meta":{"more":true}}`+"\n")
	}))
	defer api.Close()
	env := envOf(api.URL).with("FOOTFALL_STATS_KEY", "stats_key")
	got := run(t, env, "stats", "-by", "event:page", "-range", "2026-11-01,2026-11-26", "-limit", "2", "-filter", "is visit:source a letter", "-filter", "is_not event:page /jobs")
	assert.Equal(t, result{"EVENT:PAGE  VISITORS  PAGEVIEWS\n/a,b        3         40\n/?[31m      1         2\n… there are more rows: see -limit\n", "", 0}, got)
	assert.Equal(t, `POST /stats/v1/query Bearer stats_key {"site_id":"site_test","metrics":["visitors","pageviews"],"date_range":["2026-11-01","2026-11-26"],`+
		`"dimensions":["event:page"],"filters":[["is","visit:source",["a letter"]],["is_not","event:page",["/jobs"]]],"pagination":{"limit":2}}`, <-requests)
	got = run(t, env, "stats", "-by", "event:page", "-csv")
	<-requests
	assert.Equal(t, "event:page,visitors,pageviews\n\"/a,b\",3,40\n", got.out)
	got = run(t, env, "stats", "-json")
	assert.Equal(t, `{"results":[{"dimensions":["/a,b"],"metrics":[3,40]},{"dimensions":["/\u001b[31m"],"metrics":[1,2]}],"meta":{"more":true}}`+"\n", got.out)
	assert.Contains(t, <-requests, `"metrics":["visitors","pageviews","events"],"date_range":"30d"}`)
}

func TestStatsThatCannotBeHadSayWhy(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) string {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(api.Close)
		return api.URL
	}
	for want, url := range map[string]string{
		"the server answered 400: metrics: there is no metric":            answer(400, `{"error":"validation_failed","message":"metrics: there is no metric \"x\"","status":400}`),
		"the server answered 302: something other than the stats API":     answer(302, "moved"),
		"the server answered 404: something other than the stats API":     answer(404, "<html>"),
		"the answer is not one of the stats API: check FOOTFALL_BASE_URL": answer(200, "<html>"),
		"connection refused": "http://127.0.0.1:1",
	} {
		got := run(t, envOf(url).with("FOOTFALL_STATS_KEY", "stats_key"), "stats")
		assert.Equal(t, 1, got.status, want)
		assert.Contains(t, got.err, want)
		assert.NotContains(t, got.err, "stats_key")
	}
	for want, options := range map[string][]string{
		"-key or FOOTFALL_STATS_KEY is missing":           {},
		"-csv and -json exclude each other":               {"-csv", "-json", "-key", "k"},
		`"x" is not an operator, a dimension and a value`: {"-key", "k", "-filter", "x"},
	} {
		got := run(t, envOf("https://stats.example.com"), append([]string{"stats"}, options...)...)
		assert.Equal(t, 2, got.status, want)
		assert.Contains(t, got.err, want)
	}
}
