package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

// maxAnswer is the largest answer of the stats API that is read, in bytes.
const maxAnswer = 64 << 20

func statsCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "stats", Usage: "print figures of a site from the stats API of the service",
		Before: shell.NoArguments,
		Flags: []cli.Flag{
			shell.Option("key", "FOOTFALL_STATS_KEY", "`KEY` for stats, from the page API keys of the service"),
			shell.Option("site", "FOOTFALL_SITE_ID", "`ID` of the site"),
			&cli.StringFlag{Name: "range", Value: "30d", Usage: "`RANGE` such as today, 7d, lastmonth, year, all, or 2026-11-01,2026-11-26"},
			&cli.StringFlag{Name: "metrics", Usage: "`METRICS` with commas between them: visitors, pageviews, events"},
			&cli.StringFlag{Name: "by", Usage: "`DIMENSION` such as event:page, visit:source, event:props:plan or time:day; none for totals"},
			&cli.StringSliceFlag{Name: "filter", Usage: "`CONDITION` such as \"is visit:source newsletter\"; each one must hold"},
			&cli.IntFlag{Name: "limit", Usage: "the most `ROWS` of a dimension that is not a time"},
			&cli.BoolFlag{Name: "csv", Usage: "print CSV"},
			shell.JSONFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			query, err := statsQuery(c)
			if err != nil {
				return err
			}
			answer, err := askStats(ctx, c.String("key"), query, c.Bool("csv"))
			if err != nil {
				return err
			}
			return writeStats(out, c, query, answer)
		},
	}
}

// statsRequest is a query of the stats API (docs/stats.md).
type statsRequest struct {
	Site       string         `json:"site_id"`
	Metrics    []string       `json:"metrics"`
	Range      any            `json:"date_range"`
	Dimensions []string       `json:"dimensions,omitempty"`
	Filters    [][]any        `json:"filters,omitempty"`
	Pagination map[string]int `json:"pagination,omitempty"`
}

// statsAnswer is the answer.
type statsAnswer struct {
	Results []struct {
		Dimensions []string `json:"dimensions"`
		Metrics    []int64  `json:"metrics"`
	} `json:"results"`
	Meta struct {
		More bool `json:"more"`
	} `json:"meta"`

	body []byte // as received
}

// statsQuery returns the query of the options. The service checks most of it.
func statsQuery(c *cli.Command) (q statsRequest, err error) {
	v := shell.Read(c)
	for _, name := range []string{"key", "site"} {
		if v.String(name) == "" {
			v.Problem("%s is missing", v.Label(name))
		}
	}
	if c.Bool("csv") && c.Bool("json") {
		v.Problem("-csv and -json exclude each other")
	}
	q = statsRequest{Site: c.String("site"), Range: c.String("range"), Metrics: []string{"visitors", "pageviews", "events"}}
	if first, last, two := strings.Cut(c.String("range"), ","); two {
		q.Range = []string{first, last}
	}
	if by := c.String("by"); by != "" {
		q.Dimensions = []string{by}
		if !strings.HasPrefix(by, "time:") {
			q.Metrics = []string{"visitors", countedBy(by)}
		}
	}
	if metrics := c.String("metrics"); metrics != "" {
		q.Metrics = strings.Split(metrics, ",")
	}
	for _, text := range c.StringSlice("filter") {
		parts := strings.SplitN(text, " ", 3)
		if len(parts) != 3 {
			v.Problem("-filter: %q is not an operator, a dimension and a value, such as \"is visit:source newsletter\"", text)
			continue
		}
		q.Filters = append(q.Filters, []any{parts[0], parts[1], []string{parts[2]}})
	}
	if c.IsSet("limit") {
		q.Pagination = map[string]int{"limit": c.Int("limit")}
	}
	return q, v.Err()
}

// countedBy returns what a table by a dimension counts by default. Names and props are of events.
func countedBy(dimension string) string {
	if dimension == "event:name" || strings.HasPrefix(dimension, "event:props:") {
		return "events"
	}
	return "pageviews"
}

// askStats sends the query. It does not follow redirects, which would send the key elsewhere.
func askStats(ctx context.Context, key string, q statsRequest, asCSV bool) (a statsAnswer, err error) {
	cfg := footfall.ConfigFromEnv()
	cfg.APIKey = key
	if err := shell.CheckConfig(cfg); err != nil {
		return a, err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(cfg.BaseURL, "/")+"/stats/v1/query", bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	if asCSV {
		r.Header.Set("Accept", "text/csv") // the service guards texts that a spreadsheet could read as formulas
	}
	client := http.Client{Timeout: 3 * shell.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return a, err
	}
	if response.StatusCode != http.StatusOK {
		return a, refusedQuery(response.StatusCode, a.body)
	}
	if asCSV && strings.HasPrefix(response.Header.Get("Content-Type"), "text/csv") {
		return a, nil
	}
	if err := json.Unmarshal(a.body, &a); asCSV || err != nil {
		return a, errors.New("the answer is not one of the stats API: check FOOTFALL_BASE_URL")
	}
	return a, nil
}

// refusedQuery returns the reason that an answer gives.
func refusedQuery(status int, body []byte) error {
	var reason struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &reason) != nil || reason.Message == "" {
		return fmt.Errorf("the server answered %d: something other than the stats API answers; check FOOTFALL_BASE_URL", status)
	}
	return fmt.Errorf("the server answered %d: %s", status, reason.Message)
}

func writeStats(out io.Writer, c *cli.Command, q statsRequest, a statsAnswer) error {
	if c.Bool("json") || c.Bool("csv") {
		_, err := fmt.Fprintf(out, "%s\n", bytes.TrimSpace(a.body))
		return err
	}
	records := [][]string{append(append([]string{}, q.Dimensions...), q.Metrics...)}
	for _, result := range a.Results {
		var record []string
		for _, value := range result.Dimensions {
			record = append(record, shell.Printable(value))
		}
		for _, n := range result.Metrics {
			record = append(record, strconv.FormatInt(n, 10))
		}
		records = append(records, record)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, record := range records {
		line := strings.Join(record, "\t")
		if i == 0 {
			line = strings.ToUpper(line)
		}
		fmt.Fprintln(w, line)
	}
	if a.Meta.More {
		fmt.Fprintln(w, "… there are more rows: see -limit")
	}
	return w.Flush()
}
