//go:build ci

package collector

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// described holds answers against the description that the collector serves.
type described struct {
	validator.Validator
	statuses map[string][]int // of each operation, without the default
}

func describe(t *testing.T, text string) *described {
	t.Helper()
	document, err := libopenapi.NewDocument([]byte(text))
	require.NoError(t, err)
	v, problems := validator.NewValidator(document, config.WithFormatAssertions())
	require.Empty(t, problems)
	ok, bad := v.ValidateDocument()
	require.True(t, ok, "%v", bad)
	model, err := document.BuildV3Model()
	require.NoError(t, err)
	d := &described{v, make(map[string][]int)}
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			for status := range operation.Responses.Codes.FromOldest() {
				n, err := strconv.Atoi(status)
				require.NoError(t, err)
				name := strings.ToUpper(method) + " " + path
				d.statuses[name] = append(d.statuses[name], n)
			}
		}
	}
	return d
}

// operation returns a request that the description has for a path. Requests with other methods get
// the errors of the path's operation. Requests for other paths get the errors of a missing site.
func operation(path string) *http.Request {
	switch path {
	case "/v1/events":
		return httptest.NewRequest("POST", path, nil)
	case "/v1/sites", "/stats/v1/totals", "/stats/v1/series", "/stats/v1/table":
		return httptest.NewRequest("GET", path, nil)
	case "/stats/v1/query":
		return httptest.NewRequest("POST", path, nil)
	}
	return httptest.NewRequest("GET", "/v1/sites/any", nil)
}

// holds checks an answer, and returns the operation and the status.
func (d *described) holds(t *testing.T, r *http.Request, got answer) (name string, status int) {
	t.Helper()
	response := &http.Response{StatusCode: got.status, Header: got.header, Body: io.NopCloser(strings.NewReader(got.body)), Request: r}
	ok, problems := d.ValidateHttpResponse(r, response)
	assert.True(t, ok, "%s %s: %d %s: %v", r.Method, r.URL, got.status, got.body, problems)
	name = r.Method + " " + r.URL.Path
	if strings.HasPrefix(r.URL.Path, "/v1/sites/") {
		name = r.Method + " /v1/sites/{site_id}"
	}
	assert.Contains(t, d.statuses[name], got.status, name)
	return name, got.status
}

// seen are the statuses seen of each operation.
type seen map[string][]int

func (s seen) note(name string, status int) {
	if !slices.Contains(s[name], status) {
		s[name] = append(s[name], status)
	}
}

func served(t *testing.T) *described {
	t.Helper()
	got := serve(t, Config{}).do(t, "GET", "/openapi.yaml", "")
	require.Equal(t, 200, got.status)
	return describe(t, got.body)
}

func TestTheDescriptionIsServed(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	got := s.do(t, "GET", "/openapi.yaml", "")
	assert.Equal(t, string(description), got.body)
	assert.Equal(t, "application/yaml", got.header.Get("Content-Type"))
	assert.Equal(t, 304, s.do(t, "GET", "/openapi.yaml", "", "If-None-Match", got.header.Get("ETag")).status)
	assert.NotEqual(t, got.header.Get("ETag"), s.do(t, "GET", "/t.js", "").header.Get("ETag"))
	assert.Equal(t, 405, s.do(t, "POST", "/openapi.yaml", "").status)
}

// TestEveryAnswerIsDescribed sees each status of each operation at least once, and no other.
func TestEveryAnswerIsDescribed(t *testing.T) {
	t.Parallel()
	d, all := served(t), make(seen)
	s := serve(t, Config{})
	for _, row := range refusals(s) {
		got := s.api(t, row.method, row.path, row.body, row.header...)
		all.note(d.holds(t, operation(row.path), got))
	}
	all.note(d.holds(t, operation("/v1/events"), s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"))))
	paths := map[string]string{"/v1/events": "POST", "/v1/sites": "GET", "/v1/sites/" + s.site.ID: "GET"}
	for path, method := range paths {
		if method == "GET" {
			all.note(d.holds(t, operation(path), s.api(t, method, path, "")))
		}
		all.note(d.holds(t, operation(path), s.api(t, "PATCH", path, "")))
		all.note(d.holds(t, operation(path), s.do(t, method, path, "{}")))
	}
	for range failureBurst {
		s.do(t, "GET", "/v1/sites", "")
	}
	for path, method := range paths {
		all.note(d.holds(t, operation(path), s.do(t, method, path, "{}")))
	}
	describeFaults(t, d, all, s)
	describeStats(t, d, all)
	for name, statuses := range d.statuses {
		assert.ElementsMatch(t, statuses, all[name], name)
	}
	assert.Len(t, d.statuses, 7)
}

// describeFaults sees the answers of a service that has trouble.
func describeFaults(t *testing.T, d *described, all seen, s *service) {
	t.Helper()
	slow := serve(t, Config{ReadTimeout: 100 * time.Millisecond, HeaderTimeout: 100 * time.Millisecond})
	got, _ := slow.raw(t, "POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+slow.key+
		"\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	all.note(d.holds(t, operation("/v1/events"), got))

	s.site.Paused = true
	require.NoError(t, s.Account().ChangeSite(t.Context(), s.site))
	all.note(d.holds(t, operation("/v1/events"), s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"))))

	for _, path := range []string{"/v1/events", "/v1/sites", "/v1/sites/x"} {
		failing := prepare(t, Config{Store: adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) { return true, nil }}})
		recorder := httptest.NewRecorder()
		failing.answer(recorder, operation(path), func(http.ResponseWriter, *http.Request) *failure { panic("out of order") })
		all.note(d.holds(t, operation(path), recorded(recorder)))
		require.NoError(t, failing.Close(context.Background()))
		recorder = httptest.NewRecorder()
		failing.ServeHTTP(recorder, operation(path))
		all.note(d.holds(t, operation(path), recorded(recorder)))
	}
}

// describeStats sees the answers of the stats API.
func describeStats(t *testing.T, d *described, all seen) {
	t.Helper()
	for path, valid := range map[string]string{"query": `{"site_id":"SITE","metrics":["events"],"date_range":"7d","dimensions":["event:page"]}`, "totals": "", "series": "&by=week", "table": "&dimension=event:page"} {
		path = "/stats/v1/" + path
		method := operation(path).Method
		for _, trouble := range []error{nil, store.ErrTooLarge, errors.New("broken")} {
			s := serve(t, Config{Store: failingReports{Store: storetest.NewReference(), err: trouble}, ReadTimeout: 100 * time.Millisecond, HeaderTimeout: 100 * time.Millisecond})
			key := s.statsKey(t)
			sees := func(got answer) { all.note(d.holds(t, operation(path), got)) }
			ask := func(site, body, more string) {
				if method == "GET" {
					sees(s.stats(t, key, method, path+"?site_id="+site+more, ""))
				} else {
					sees(s.stats(t, key, method, path, strings.Replace(body, "SITE", site, 1)))
				}
			}
			ask(s.site.ID, valid, valid)
			if trouble != nil {
				continue
			}
			ask("none", valid, valid)
			ask(s.site.ID, "{}", "&format=xml")
			sees(s.stats(t, s.key, method, path, ""))
			sees(s.stats(t, key, "PATCH", path, ""))
			if method == "POST" {
				sees(s.stats(t, key, method, path, strings.Repeat(" ", store.MaxBody+1)))
				sees(s.do(t, method, path, "{}", "Authorization", "Bearer "+key))
				got, _ := s.raw(t, "POST "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+"\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
				sees(got)
			}
			sees(s.do(t, method, path, ""))
			for range failureBurst {
				s.do(t, method, path, "")
			}
			sees(s.do(t, method, path, ""))
			recorder := httptest.NewRecorder()
			s.answer(recorder, operation(path), func(http.ResponseWriter, *http.Request) *failure { panic("out of order") })
			sees(recorded(recorder))
		}
	}
	s := serve(t, Config{})
	all.note(d.holds(t, operation("/v1/events"), s.stats(t, s.statsKey(t), "POST", "/v1/events", "{}")))
}

func recorded(r *httptest.ResponseRecorder) answer {
	return answer{r.Code, r.Header(), r.Body.String()}
}

// TestEventsAreDescribed holds bodies at the limits against the description, and bodies beyond
// them.
func TestEventsAreDescribed(t *testing.T) {
	t.Parallel()
	d := served(t)
	s := serve(t, Config{})
	long := strings.Repeat("x", 3000)
	validates := func(body string) bool {
		r := httptest.NewRequest("POST", "/v1/events", bytes.NewReader([]byte(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.key)
		r.Header.Set("Idempotency-Key", "0190a0a0-0000-7000-8000-000000000000")
		ok, _ := d.ValidateHttpRequest(r)
		return ok
	}
	for name, body := range map[string]string{
		"props":    s.event("x", pageURL, `{"plan":"pro","amount":4999,"share":0.5,"text":"a\nb"}`),
		"no props": `{"site_id":"` + s.site.ID + `","name":"x","url":"` + pageURL + `"}`,
		"name":     s.event(strings.Repeat("ä", store.MaxName), pageURL, "{}"),
		"text":     s.event("x", pageURL, `{"k":"`+long[:store.MaxPropText]+`"}`),
		"key":      s.event("x", pageURL, `{"`+long[:store.MaxPropKey]+`":1}`),
		"scheme":   s.event("x", "HTTPS://shop.example.com", "{}"),
	} {
		assert.True(t, validates(body), name)
		assert.Equal(t, 202, s.api(t, "POST", "/v1/events", body).status, name)
	}
	rows := refusals(s)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := rows[name]
		if row.status != 400 || row.header != nil || !strings.HasPrefix(row.body, "{") || beyondSchema[name] {
			continue
		}
		assert.False(t, validates(row.body), "%s: the collector refuses it: %s", name, row.message)
	}
}

// beyondSchema are the refusals that the schema does not express: of JSON itself, where parsers
// differ, of the text of a number, and of white space and hosts outside of ASCII or the pattern.
var beyondSchema = map[string]bool{
	"key twice": true, "name twice": true, "props twice": true, "not UTF-8": true,
	"name half a pair": true, "name wrong pair": true, "number too long": true,
	"name blank": true, "url bad host": true, "url only port": true,
}

// What the rules spectral:oas ask for.
func TestTheDescriptionNamesAContactAndDescribesEachOperation(t *testing.T) {
	t.Parallel()
	document, err := libopenapi.NewDocument(description)
	require.NoError(t, err)
	model, err := document.BuildV3Model()
	require.NoError(t, err)
	assert.NotEmpty(t, model.Model.Info.Contact.URL)
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			assert.NotEmpty(t, operation.Description, "%s %s", method, path)
		}
	}
}
