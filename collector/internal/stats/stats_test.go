package stats

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

var (
	now   = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	goals = []account.Goal{{ID: "goal_1", Name: "Bought", Match: store.Match{Event: "paid"}}}
)

func event(path, name, source string, at time.Time, visitor uint64, props ...store.Prop) store.Event {
	return store.Event{Site: "s", At: at, Name: name, URL: "https://s.example" + path, Path: path, Source: source, Visitor: visitor, Props: props}
}

func filled(t *testing.T) store.Store {
	t.Helper()
	s := storetest.NewReference()
	for _, e := range []store.Event{
		event("/", "", "news", now.Add(-time.Hour), 1), event("/", "", "", now.Add(-time.Hour), 2), event("/shop", "", "", now.Add(-time.Hour), 1),
		event("/shop", "paid", "news", now.Add(-time.Minute), 1, store.Prop{Key: "plan", Value: "pro"}), event("/shop", "paid", "", now.Add(-time.Minute), 0),
		event("/", "", "news", now.AddDate(0, 0, -8), 3), event("/old", "", "", now.AddDate(-2, 0, 0), 4),
	} {
		storetest.Add(t, s, e)
	}
	return s
}

func TestQueryIsAnsweredInTheFormOfTheRequest(t *testing.T) {
	t.Parallel()
	s := filled(t)
	for body, want := range map[string]string{
		`{"site_id":"s","metrics":["visitors","pageviews","events"],"date_range":"7d"}`:                                                      `[{"dimensions":[],"metrics":[2,3,2]}]`,
		`{"site_id":"s","metrics":["events"],"date_range":"day"}`:                                                                            `[{"dimensions":[],"metrics":[2]}]`,
		`{"site_id":"s","metrics":["visitors"],"date_range":["2026-11-12","2026-11-12"]}`:                                                    `[{"dimensions":[],"metrics":[1]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"all"}`:                                                                         `[{"dimensions":[],"metrics":[5]}]`,
		`{"site_id":"s","metrics":["pageviews","visitors"],"date_range":"7d","dimensions":["event:page"]}`:                                   `[{"dimensions":["/"],"metrics":[2,2]},{"dimensions":["/shop"],"metrics":[1,1]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","dimensions":["event:page"],"order_by":[["pageviews","asc"]]}`:             `[{"dimensions":["/shop"],"metrics":[1]},{"dimensions":["/"],"metrics":[2]}]`,
		`{"site_id":"s","metrics":["visitors","events"],"date_range":"7d","dimensions":["event:name"]}`:                                      `[{"dimensions":["paid"],"metrics":[1,2]}]`,
		`{"site_id":"s","metrics":["visitors"],"date_range":"7d","dimensions":["event:name"]}`:                                               `[{"dimensions":["paid"],"metrics":[1]}]`,
		`{"site_id":"s","metrics":["events"],"date_range":"7d","dimensions":["event:props:plan"]}`:                                           `[{"dimensions":["pro"],"metrics":[1]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","filters":[["is","visit:source",["news"]]]}`:                               `[{"dimensions":[],"metrics":[1]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","filters":[["is_not","visit:source",["news"]]]}`:                           `[{"dimensions":[],"metrics":[2]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","filters":[["contains","event:page",["HOP"]]]}`:                            `[{"dimensions":[],"metrics":[1]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","filters":[["is","event:goal",["Bought"]]]}`:                               `[{"dimensions":[],"metrics":[2]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","filters":[["is_not","event:goal",["goal_1"]]]}`:                           `[{"dimensions":[],"metrics":[1]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":["2026-11-19","2026-11-20"],"dimensions":["time:day"]}`:                         `[{"dimensions":["2026-11-19"],"metrics":[0]},{"dimensions":["2026-11-20"],"metrics":[3]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":["2026-11-10","2026-11-20"],"dimensions":["time:week"]}`:                        `[{"dimensions":["2026-11-10"],"metrics":[1]},{"dimensions":["2026-11-16"],"metrics":[3]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"month","dimensions":["time:month"]}`:                                           `[{"dimensions":["2026-11-01"],"metrics":[4]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","dimensions":["event:page"],"pagination":{"limit":1,"offset":1}}`:          `[{"dimensions":["/shop"],"metrics":[1]}]`,
		`{"site_id":"none","metrics":["pageviews"],"date_range":"all"}`:                                                                      `[{"dimensions":[],"metrics":[0]}]`,
		`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","dimensions":["event:page"],"filters":[["is","event:page",["/nothing"]]]}`: `[]`,
	} {
		q, err := Decode([]byte(body))
		require.NoError(t, err, body)
		response, err := q.Answer(t.Context(), s, now, time.UTC, goals)
		require.NoError(t, err, body)
		got, err := json.Marshal(response.Results)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), body)
	}
	q, err := Decode([]byte(`{"site_id":"s","metrics":["pageviews"],"date_range":"7d","dimensions":["time:hour"]}`))
	require.NoError(t, err)
	response, err := q.Answer(t.Context(), s, now, time.UTC, nil)
	require.NoError(t, err)
	require.Len(t, response.Results, 7*24)
	assert.Equal(t, []string{"2026-11-14T00:00:00Z"}, response.Results[0].Dimensions)
	assert.Equal(t, Meta{From: "2026-11-14", To: "2026-11-20", Zone: "UTC"}, response.Meta)
}

func TestWrongQueryNamesTheFieldAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	const head = `{"site_id":"s","metrics":["pageviews"],"date_range":"7d"`
	many := `["is","event:page",["/"]],`
	for body, want := range map[string]string{
		``:                                     "body: is not valid JSON",
		`[]`:                                   "body: must be a JSON object",
		head:                                   "body: is not valid JSON",
		head + `} {}`:                          "body: has more than one JSON value",
		head + `,"filter":[]}`:                 "filter: there is no such field",
		`{"site_id":"s","metrics":"visitors"}`: "metrics: must not be a JSON string",
		head + `,"metrics":["visitors"]}`:      "metrics: is given twice",
		head + `,"Filters":[]}`:                "Filters: there is no such field",
		head + `,"pagination":{"limit":1,"limit":2}}`:                                                              "pagination.limit: is given twice",
		head + `,"pagination":{"Limit":1}}`:                                                                        "pagination.Limit: there is no such field",
		head + `,"pagination":[]}`:                                                                                 "pagination: must be a JSON object",
		head + `,"dimensions":["event:colour"]}`:                                                                   `dimensions: there is no dimension "event:colour": use time:hour`,
		head + `,"dimensions":["event:props:"]}`:                                                                   `dimensions: there is no dimension "event:props:"`,
		head + `,"dimensions":["time:minute"]}`:                                                                    `dimensions: there is no dimension "time:minute"`,
		head + `,"dimensions":["event:page","event:name"]}`:                                                        "dimensions: must have one dimension at most",
		head + `,"filters":[["is","event:page"]]}`:                                                                 "filters: must be a list of conditions such as",
		head + `,"filters":[["and",[]]]}`:                                                                          "filters: must be a list of conditions such as",
		head + `,"filters":[["matches","event:page",["/"]]]}`:                                                      `filters: there is no operator "matches"`,
		head + `,"filters":[["is","event:colour",["red"]]]}`:                                                       `filters: there is no dimension "event:colour"`,
		head + `,"filters":[["is","event:page",[]]]}`:                                                              "filters: the condition on path has no value",
		head + `,"filters":[["is","event:goal",["Sold"]]]}`:                                                        `filters: the site has no goal "Sold"`,
		head + `,"filters":[["contains","event:goal",["Bought"]]]}`:                                                "filters: a condition on a goal needs the operator is or is_not",
		head + `,"filters":[` + strings.Repeat(many, 1000) + `["is","event:page",["/"]]]}`:                         "filters: a filter has 20 conditions at most",
		head + `,"order_by":[["pageviews","desc"]]}`:                                                               "order_by: needs a dimension that is not a time",
		head + `,"dimensions":["event:page"],"order_by":[["visitors","desc"]]}`:                                    `order_by: "visitors" is not among the metrics`,
		head + `,"dimensions":["event:page"],"order_by":[["pageviews","up"]]}`:                                     "order_by: the direction must be asc or desc",
		head + `,"dimensions":["event:page"],"order_by":[["pageviews","desc","x"]]}`:                               "order_by: must have one entry at most",
		head + `,"pagination":{"limit":1}}`:                                                                        "pagination: needs a dimension that is not a time",
		head + `,"dimensions":["event:page"],"pagination":{"limit":0}}`:                                            "limit: must be from 1 to 10000",
		head + `,"dimensions":["event:page"],"pagination":{"offset":-1}}`:                                          "offset: must be from 0 to 100000",
		head + `,"dimensions":["event:page"],"pagination":{"page":1}}`:                                             "pagination.page: there is no such field",
		`{"site_id":"s","date_range":"7d"}`:                                                                        "metrics: must name at least one of",
		`{"site_id":"s","metrics":["bounce_rate"],"date_range":"7d"}`:                                              `metrics: there is no metric "bounce_rate"`,
		`{"site_id":"s","metrics":["events","events"],"date_range":"7d"}`:                                          "metrics: has events twice",
		`{"site_id":"s","metrics":["pageviews","events"],"date_range":"7d","dimensions":["event:page"]}`:           "metrics: with this dimension, ask for pageviews or for events",
		`{"site_id":"s","metrics":["events"]}`:                                                                     "date_range: must be one of today, yesterday",
		`{"site_id":"s","metrics":["events"],"date_range":"banana"}`:                                               "date_range: must be one of today, yesterday",
		`{"site_id":"s","metrics":["events"],"date_range":5}`:                                                      "date_range: must be a name, or a list of two days",
		`{"site_id":"s","metrics":["events"],"date_range":["2026-01-01"]}`:                                         "date_range: must be a name, or a list of two days",
		`{"site_id":"s","metrics":["events"],"date_range":["2026-01-02","2026-01-01"]}`:                            "date_range: To is before From.",
		`{"site_id":"s","metrics":["events"],"date_range":["1969-01-01","1970-01-02"]}`:                            "date_range: The year must be from 1970 to 9998",
		`{"site_id":"s","metrics":["events"],"date_range":["1970-01-01","2100-01-01"]}`:                            "date_range: The range is longer than fifty years.",
		`{"site_id":"s","metrics":["events"],"date_range":["0000-00-00","x"]}`:                                     "date_range: From must be a date",
		`{"site_id":"s","metrics":["events"],"date_range":"lastyear","dimensions":["time:hour"]}`:                  "",
		`{"site_id":"s","metrics":["events"],"date_range":["2020-01-01","2026-01-01"],"dimensions":["time:hour"]}`: "dimensions: time:hour needs a range of at most 416 days",
	} {
		q, err := Decode([]byte(body))
		if err == nil {
			_, err = q.Answer(t.Context(), storetest.NewReference(), now, time.UTC, goals)
		}
		if want == "" {
			assert.NoError(t, err, body)
			continue
		}
		assert.ErrorContains(t, err, want, body)
		_, ok := errors.AsType[*FieldError](err)
		assert.True(t, ok, body)
	}
}

func TestFlatQueryMeansTheSameAsOneInJSON(t *testing.T) {
	t.Parallel()
	s := filled(t)
	for query, body := range map[string]string{
		"totals?site_id=s": `{"site_id":"s","metrics":["visitors","pageviews","events"],"date_range":"30d"}`,
		"totals?site_id=s&metrics=events&date_range=2026-11-12,2026-11-20":                                  `{"site_id":"s","metrics":["events"],"date_range":["2026-11-12","2026-11-20"]}`,
		"series?site_id=s&date_range=7d&metrics=pageviews":                                                  `{"site_id":"s","metrics":["pageviews"],"date_range":"7d","dimensions":["time:day"]}`,
		"series?site_id=s&date_range=7d&metrics=pageviews&by=hour":                                          `{"site_id":"s","metrics":["pageviews"],"date_range":"7d","dimensions":["time:hour"]}`,
		"table?site_id=s&dimension=event:page&limit=1&offset=1&order_by=visitors:asc":                       `{"site_id":"s","metrics":["visitors","pageviews"],"date_range":"30d","dimensions":["event:page"],"pagination":{"limit":1,"offset":1},"order_by":[["visitors","asc"]]}`,
		`totals?site_id=s&metrics=pageviews&filters=` + url.QueryEscape(`[["is","visit:source",["news"]]]`): `{"site_id":"s","metrics":["pageviews"],"date_range":"30d","filters":[["is","visit:source",["news"]]]}`,
	} {
		path, parameters, _ := strings.Cut(query, "?")
		values, err := url.ParseQuery(parameters)
		require.NoError(t, err)
		got, format, err := FromQuery(path, values)
		require.NoError(t, err, query)
		assert.Equal(t, JSON, format)
		want, err := Decode([]byte(body))
		require.NoError(t, err)
		a, err := got.Answer(t.Context(), s, now, time.UTC, goals)
		require.NoError(t, err, query)
		b, err := want.Answer(t.Context(), s, now, time.UTC, goals)
		require.NoError(t, err)
		assert.Equal(t, b, a, query)
	}
	for query, want := range map[string]string{
		"totals?site_id=s&limit=1":                     "limit: there is no such parameter",
		"totals?site_id=s&site_id=t":                   "site_id: appears twice",
		"totals?format=xml":                            "format: must be json or csv",
		"totals?filters=x":                             "filters: must be a list of conditions",
		"table?site_id=s":                              "dimension: is missing",
		"table?site_id=s&dimension=time:day":           "dimension: must not be a time: use series",
		"table?site_id=s&dimension=event:page&limit=x": "limit: must be a number",
		"table?site_id=s&dimension=event:colour":       `dimension: there is no dimension "event:colour"`,
		"series?site_id=s&by=minute":                   `by: there is no dimension "time:minute"`,
	} {
		path, parameters, _ := strings.Cut(query, "?")
		values, err := url.ParseQuery(parameters)
		require.NoError(t, err)
		q, _, err := FromQuery(path, values)
		if err == nil {
			_, err = q.Answer(t.Context(), s, now, time.UTC, nil)
		}
		assert.ErrorContains(t, err, want, query)
	}
}

func TestRowsAreOrderedByTheMetric(t *testing.T) {
	t.Parallel()
	s := storetest.NewReference()
	for path, of := range map[string][]uint64{"/often": {1, 1, 1}, "/wide": {1, 2}} {
		for _, visitor := range of {
			storetest.Add(t, s, event(path, "", "", now, visitor))
		}
	}
	for order, first := range map[string]string{"pageviews:desc": "/often", "pageviews:asc": "/wide", "visitors": "/wide", "visitors:asc": "/often"} {
		q, _, err := FromQuery("table", url.Values{"site_id": {"s"}, "dimension": {"event:page"}, "order_by": {order}})
		require.NoError(t, err)
		response, err := q.Answer(t.Context(), s, now, time.UTC, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{first}, response.Results[0].Dimensions, order)
	}
}

func TestRecordsHaveAHeader(t *testing.T) {
	t.Parallel()
	q, _, err := FromQuery("table", url.Values{"site_id": {"s"}, "dimension": {"event:page"}})
	require.NoError(t, err)
	response, err := q.Answer(t.Context(), filled(t), now, time.UTC, nil)
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"event:page", "visitors", "pageviews"}, {"/", "3", "3"}, {"/shop", "1", "1"}}, response.Records(&q))
	q, _, err = FromQuery("table", url.Values{"site_id": {"s"}, "dimension": {"event:page"}, "limit": {"1"}})
	require.NoError(t, err)
	response, err = q.Answer(t.Context(), filled(t), now, time.UTC, nil)
	require.NoError(t, err)
	records := response.Records(&q)
	require.Len(t, records, 3)
	assert.Equal(t, []string{"This table is incomplete: there are more rows. Ask for them with limit and offset."}, records[2])
}

func TestTableCountsEventsIfOnlyTheyHaveTheDimension(t *testing.T) {
	t.Parallel()
	for dimension, want := range map[string][]string{"event:name": {"visitors", "events"}, "event:props:plan": {"visitors", "events"}, "event:page": {"visitors", "pageviews"}} {
		q, _, err := FromQuery("table", url.Values{"site_id": {"s"}, "dimension": {dimension}})
		require.NoError(t, err)
		assert.Equal(t, want, q.Metrics, dimension)
		response, err := q.Answer(t.Context(), filled(t), now, time.UTC, nil)
		require.NoError(t, err)
		assert.NotEmpty(t, response.Results, dimension)
	}
}

// No body makes the decoder or the planner panic, and each error names a field.
func FuzzQuery(f *testing.F) {
	f.Add([]byte(`{"site_id":"s","metrics":["visitors"],"date_range":["2026-11-01","2026-11-20"],"dimensions":["event:props:k"],"filters":[["is_not","event:goal",["Bought"]]],"order_by":[["visitors","asc"]],"pagination":{"limit":3,"offset":1}}`))
	f.Add([]byte(`{"date_range":"all","dimensions":["time:month"]}`))
	empty := storetest.NewReference()
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := Decode(body)
		if err == nil {
			_, err = q.Answer(t.Context(), empty, now, time.UTC, goals)
		}
		if err != nil {
			bad, ok := errors.AsType[*FieldError](err)
			require.True(t, ok, "%v", err)
			assert.NotEmpty(t, bad.Reason)
		}
	})
}
