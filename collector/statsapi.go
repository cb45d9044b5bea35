package collector

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/event"
	"github.com/footfall-dev/footfall/collector/internal/spreadsheet"
	"github.com/footfall-dev/footfall/collector/internal/stats"
	"github.com/footfall-dev/footfall/collector/store"
)

// maxQueries returns how many queries of the stats API run at once: half of the processors are left to events.
func maxQueries() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// queryTimeout is how long a query may take, as long as a page of the dashboard.
const queryTimeout = 20 * time.Second

// queryWait is how long a query waits for a place: a dashboard of another program asks a dozen at once.
const queryWait = 5 * time.Second

// serveStats serves the stats API, which docs/stats.md describes.
func (c *Collector) serveStats(w http.ResponseWriter, r *http.Request) *failure {
	switch path := r.URL.Path; path {
	case "/stats/v1/query":
		return c.authenticated(w, r, http.MethodPost, only(account.ScopeStats, c.postQuery))
	case "/stats/v1/totals", "/stats/v1/series", "/stats/v1/table":
		return c.authenticated(w, r, http.MethodGet, only(account.ScopeStats, c.getFigures))
	}
	return notFound("there is no such path: " + event.Quote(r.URL.Path))
}

// postQuery answers a query in JSON, with CSV if the client accepts nothing else.
func (c *Collector) postQuery(w http.ResponseWriter, r *http.Request, _ account.Key) *failure {
	if f := checkMediaType(r, "application/json"); f != nil {
		return f
	}
	body, f := readBody(nil, r)
	if f != nil {
		return f
	}
	q, err := stats.Decode(body)
	if err != nil {
		return badQuery(err)
	}
	format := stats.JSON
	if r.Header.Get("Accept") == "text/csv" {
		format = stats.CSV
	}
	return c.answerQuery(w, r, &q, format)
}

// getFigures answers a query in the parameters of a URL.
func (c *Collector) getFigures(w http.ResponseWriter, r *http.Request, _ account.Key) *failure {
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("query", "is not a valid query of a URL")
	}
	q, format, err := stats.FromQuery(strings.TrimPrefix(r.URL.Path, "/stats/v1/"), parameters)
	if err != nil {
		return badQuery(err)
	}
	return c.answerQuery(w, r, &q, format)
}

func (c *Collector) answerQuery(w http.ResponseWriter, r *http.Request, q *stats.Request, format string) *failure {
	response, f := c.query(r, q)
	if f != nil {
		return f
	}
	if format == stats.CSV {
		writeCSV(w, response.Records(q))
		return nil
	}
	data, _ := json.Marshal(response) // cannot fail
	writeJSON(w, http.StatusOK, data)
	return nil
}

// writeCSV writes records whose texts a spreadsheet cannot read as formulas.
func writeCSV(w http.ResponseWriter, records [][]string) {
	var out bytes.Buffer
	file := csv.NewWriter(&out)
	for _, record := range records {
		for i := range record {
			record[i] = spreadsheet.Guard(record[i])
		}
		_ = file.Write(record) // a bytes.Buffer takes all
	}
	file.Flush()
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h["X-Content-Type-Options"] = noSniff
	h["Cache-Control"] = noStore
	_, _ = out.WriteTo(w) // fails if the client is gone
}

// query answers a query, unless too many run for too long.
func (c *Collector) query(r *http.Request, q *stats.Request) (response stats.Response, f *failure) {
	wait, stop := context.WithTimeout(r.Context(), queryWait)
	defer stop()
	select {
	case c.queries <- struct{}{}:
		defer func() { <-c.queries }()
	case <-wait.Done():
		return response, rateLimited("too many queries at once", 1)
	}
	if q.Site == "" {
		return response, invalid("site_id", "is missing")
	}
	site, ok := c.account.Site(q.Site)
	if !ok {
		return response, noSuchSite("id", q.Site)
	}
	ctx, cancel := context.WithTimeout(r.Context(), queryTimeout)
	defer cancel()
	response, err := q.Answer(ctx, c.store, time.Now(), site.Location(), c.account.Goals(site.ID))
	return response, c.queryFailure(r, err)
}

func badQuery(err error) *failure {
	bad, _ := errors.AsType[*stats.FieldError](err)
	return invalid(bad.Field, bad.Reason)
}

// queryFailure returns the answer for an error of a query; nil if there is none.
func (c *Collector) queryFailure(r *http.Request, err error) *failure {
	_, bad := errors.AsType[*stats.FieldError](err)
	switch {
	case err == nil:
		return nil
	case bad:
		return badQuery(err)
	case errors.Is(err, store.ErrTooLarge):
		return &failure{status: http.StatusUnprocessableEntity, code: "too_large", message: "the query needs too much memory: ask for a shorter range"}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{status: http.StatusUnprocessableEntity, code: "too_slow", message: "the query took longer than " + queryTimeout.String() + ": ask for a shorter range"}
	case r.Context().Err() == nil:
		c.log.ErrorContext(r.Context(), "collector: a query failed", "error", err)
	}
	return unavailable("the figures cannot be read; the log of the service says why")
}
