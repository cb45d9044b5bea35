package stats

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Formats of the flat queries.
const (
	JSON = "json"
	CSV  = "csv"
)

// flat are the paths of the flat queries, and their parameters besides those that all have.
var flat = map[string][]string{
	"totals": nil,
	"series": {"by"},
	"table":  {"dimension", "order_by", "limit", "offset"},
}

var common = []string{"site_id", "date_range", "metrics", "filters", "format"}

// FromQuery returns the request that the parameters of a flat query mean, and the format of its answer. The error is a
// *[FieldError].
func FromQuery(path string, of url.Values) (r Request, format string, err error) {
	for name, values := range of {
		if !slices.Contains(common, name) && !slices.Contains(flat[path], name) {
			return r, "", wrong(shorten(name), "there is no such parameter")
		}
		if len(values) > 1 {
			return r, "", wrong(name, "appears twice")
		}
	}
	r.Site, format = of.Get("site_id"), of.Get("format")
	if format == "" {
		format = JSON
	}
	if format != JSON && format != CSV {
		return r, "", wrong("format", "must be json or csv")
	}
	r.Metrics = []string{visitors, pageviews, events}
	if path == "table" {
		r.Metrics = []string{visitors, countedBy(of.Get("dimension"))}
	}
	if of.Has("metrics") {
		r.Metrics = strings.Split(of.Get("metrics"), ",")
	}
	r.Range = rangeOf(of.Get("date_range"))
	if of.Has("filters") {
		if err := json.Unmarshal([]byte(of.Get("filters")), &r.Filters); err != nil {
			return r, "", wrong("filters", `must be a list of conditions such as [["is","event:page",["/pricing"]]]`)
		}
	}
	return r, format, r.setFlat(path, of)
}

// countedBy returns what a table by a dimension counts by default. Names and props are of events.
func countedBy(dimension string) string {
	if dimension == "event:name" || strings.HasPrefix(dimension, propPrefix) {
		return events
	}
	return pageviews
}

// rangeOf returns the range 30d for "", two days with a comma between them, or a name.
func rangeOf(text string) dateRange {
	if text == "" {
		return dateRange{Name: "30d"}
	}
	if first, last, two := strings.Cut(text, ","); two {
		return dateRange{First: first, Last: last}
	}
	return dateRange{Name: text}
}

// setFlat sets what only series and tables have.
func (r *Request) setFlat(path string, of url.Values) error {
	switch path {
	case "series":
		by := of.Get("by")
		if by == "" {
			by = "day"
		}
		r.Dimensions, r.dimension = []string{timePrefix + by}, "by"
		return nil
	case "totals":
		return nil
	}
	if of.Get("dimension") == "" {
		return wrong("dimension", "is missing: use %s", dimensionNames())
	}
	if strings.HasPrefix(of.Get("dimension"), timePrefix) {
		return wrong("dimension", "must not be a time: use series")
	}
	r.Dimensions, r.dimension = []string{of.Get("dimension")}, "dimension"
	if by := of.Get("order_by"); by != "" {
		metric, direction, _ := strings.Cut(by, ":")
		if direction == "" {
			direction = "desc"
		}
		r.Order = [][]string{{metric, direction}}
	}
	var err error
	r.Pagination = &pagination{}
	if text := of.Get("limit"); text != "" {
		limit, bad := strconv.Atoi(text)
		if r.Pagination.Limit = &limit; bad != nil {
			return wrong("limit", "must be a number")
		}
	}
	if text := of.Get("offset"); text != "" {
		if r.Pagination.Offset, err = strconv.Atoi(text); err != nil {
			return wrong("offset", "must be a number")
		}
	}
	return nil
}

// Records returns the response as records of a table, the header first. If there are more rows, a last record of one cell
// says so, which is an error for programs.
func (r *Response) Records(q *Request) [][]string {
	all := [][]string{slices.Concat(q.Dimensions, q.Metrics)}
	for _, result := range r.Results {
		record := slices.Clone(result.Dimensions)
		for _, n := range result.Metrics {
			record = append(record, strconv.FormatInt(n, 10))
		}
		all = append(all, record)
	}
	if r.Meta.More {
		all = append(all, []string{"This table is incomplete: there are more rows. Ask for them with limit and offset."})
	}
	return all
}
