package footfall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const htmlPage = "<!doctype html><title>Welcome</title>"

// errorOf is the API's error body.
func errorOf(status int, code, message string) string {
	body, _ := json.Marshal(errorBody{Error: code, Message: message, Status: status}) // cannot fail
	return string(body)
}

type verdictRow struct {
	status int
	body   string
	err    error
	want   verdict
}

// Promise 4 of the design, row by row.
func verdictRows() map[string]verdictRow {
	rows := map[string]verdictRow{
		"202 accepted":                  {202, `{"accepted":true}`, nil, accepted},
		"202 accepted, spaced":          {202, "{ \"accepted\" : true }\n", nil, accepted},
		"202 with more fields":          {202, `{"accepted":true,"id":"x"}`, nil, accepted},
		"202 without a body":            {202, "", nil, accepted},
		"202 with an empty object":      {202, "{}", nil, accepted},
		"202 cut short":                 {202, `{"accepted":fal`, nil, accepted},
		"202 with text":                 {202, "ok", nil, accepted},
		"202 accepted null":             {202, `{"accepted":null}`, nil, accepted},
		"202 not accepted":              {202, `{"accepted":false}`, nil, refused},
		"202 not accepted, and why":     {202, `{"message":"no","accepted": false}`, nil, refused},
		"404 with the API's error body": {404, errorOf(404, "not_found", "no site"), nil, refused},
		"405 with the API's error body": {405, errorOf(405, "method_not_allowed", "no"), nil, refused},
		"404 of a page":                 {404, htmlPage, nil, notAPI},
		"404 without a body":            {404, "", nil, notAPI},
		"404 of some other JSON":        {404, `{"message":"no Route matched with those values"}`, nil, notAPI},
		"404 of another status inside":  {404, errorOf(400, "not_found", "no"), nil, notAPI},
		"404 without a code":            {404, errorOf(404, "", "no"), nil, notAPI},
		"404 cut short":                 {404, errorOf(404, "not_found", "no")[:30], nil, notAPI},
		"405 of a page":                 {405, htmlPage, nil, notAPI},
		"407 of a proxy":                {407, htmlPage, nil, notAPI},
		"407 with an error body":        {407, errorOf(407, "x", "y"), nil, notAPI},
		"200 of the API's words":        {200, `{"accepted":true}`, nil, notAPI},
		"200 of a login page":           {200, htmlPage, nil, notAPI},
		"network error":                 {0, "", io.ErrUnexpectedEOF, later},
		"timeout":                       {0, "", context.DeadlineExceeded, later},
		"error after a status":          {202, `{"accepted":true}`, io.ErrUnexpectedEOF, later},
	}
	add := func(name string, want verdict, statuses ...int) {
		for _, s := range statuses {
			for kind, body := range map[string]string{"error body": errorOf(s, "code", "message"), "page": htmlPage, "nothing": ""} {
				rows[name+", "+http.StatusText(s)+" with "+kind] = verdictRow{s, body, nil, want}
			}
		}
	}
	add("this event is bad", refused, 400, 402, 406, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 426, 428, 431, 451)
	add("the key is bad", badKey, 401, 403)
	add("this is not the API", notAPI, 101, 200, 201, 203, 204, 205, 206, 207, 226, 300, 301, 302, 303, 304, 305, 307, 308)
	add("not now", later, 408, 425, 429, 500, 501, 502, 503, 504, 507, 508, 511)
	return rows
}

func TestVerdictOfEveryAnswer(t *testing.T) {
	t.Parallel()
	for name, row := range verdictRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := answer{status: row.status, body: []byte(row.body), err: row.err}
			assert.Equal(t, row.want, judge(&a))
			if row.want != accepted {
				assert.Error(t, a.failure())
			}
		})
	}
}

func TestVerdictOfEveryStatusIsOneOfTheTable(t *testing.T) {
	t.Parallel()
	for status := 100; status < 1000; status++ {
		a := answer{status: status}
		got := judge(&a)
		assert.Equal(t, status == 202, got == accepted, "only 202 accepts, not %d", status)
		if status >= 500 {
			assert.Equal(t, later, got, "%d", status)
		}
		if got == refused {
			assert.True(t, status >= 400 && status < 500, "%d gives an event up", status)
		}
	}
}

func TestAPIErrorIsTheErrorBodyOfTheContract(t *testing.T) {
	t.Parallel()
	a := answer{status: 404, body: []byte(`{"error":"not_found","message":"no site \"x\"","status":404,"more":1}`)}
	err := a.failure()
	var api *APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, APIError{Code: "not_found", Message: `no site "x"`, Status: 404}, *api)
	assert.EqualError(t, err, `footfall: the API answered 404 not_found: no site "x"`)
	assert.ErrorIs(t, err, ErrNotFound)
}

func TestAPIErrorOfSomethingElseSaysWhatCame(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		status int
		body   string
		want   string
	}{
		"page":      {404, " <h1>\n\tNot\r\nFound</h1> ", "footfall: the API answered 404: not the API's error body: <h1> Not Found</h1>"},
		"no body":   {502, " \n", "footfall: the API answered 502: no body; check BaseURL if this is not expected"},
		"401":       {401, "", "footfall: the API answered 401: the key is refused; check APIKey; no body"},
		"401 page":  {401, "<p>Log in</p>", "footfall: the API answered 401: the key is refused; check APIKey; not the API's error body: <p>Log in</p>"},
		"401 JSON":  {401, `{"message":"Unauthorized"}`, `footfall: the API answered 401: the key is refused; check APIKey; not the API's error body: {"message":"Unauthorized"}`},
		"403":       {403, "", "footfall: the API answered 403: the key is refused, or a firewall refuses this request; check APIKey; no body"},
		"403 page":  {403, "blocked", "footfall: the API answered 403: the key is refused, or a firewall refuses this request; check APIKey; not the API's error body: blocked"},
		"redirect":  {302, htmlPage, "footfall: the API answered 302: a redirect, which is never followed; check BaseURL"},
		"not UTF-8": {500, "a\xff\xfeb", "footfall: the API answered 500: not the API's error body: a\uFFFDb"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := answer{status: row.status, body: []byte(row.body)}
			assert.EqualError(t, a.failure(), row.want)
			assert.NotErrorIs(t, a.failure(), ErrNotFound)
		})
	}
}

func TestAPIErrorOfARefused202SaysSo(t *testing.T) {
	t.Parallel()
	a := answer{status: 202, body: []byte(`{"accepted":false}`)}
	assert.EqualError(t, a.refusal(), "footfall: the API answered 202: accepted is false")
}

func TestAPIErrorIsBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"ASCII":      strings.Repeat("a", 1<<20),
		"two bytes":  strings.Repeat("é", 1<<19),
		"four bytes": "x" + strings.Repeat("😀", 1<<18),
		"mixed":      strings.Repeat("a\xffé", 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, a := range []answer{
				{status: 400, body: []byte(text)},
				{status: 400, body: []byte(errorOf(400, text, text))},
			} {
				api := apiError(&a)
				assert.LessOrEqual(t, len(api.Message), 512)
				assert.LessOrEqual(t, len(api.Code), 64)
				assert.True(t, utf8.ValidString(api.Error()), "%q", api.Error())
				assert.True(t, strings.HasSuffix(api.Message, "…"), "cut text says so")
			}
		})
	}
}

func TestBoundedCutsAtACharacter(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		n    int
		want string
	}{
		"fits":                {"abc", 3, "abc"},
		"empty":               {"", 3, ""},
		"one too many":        {"abcdef", 5, "ab…"},
		"inside a character":  {"aéééé", 6, "aé…"},
		"at its edge":         {"éééé", 7, "éé…"},
		"nothing left":        {"éééé", 3, "…"},
		"bad bytes are named": {"\xff", 3, "\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := bounded(row.text, row.n)
			assert.Equal(t, row.want, got)
			assert.LessOrEqual(t, len(got), row.n)
		})
	}
}

func TestErrNotFoundIsTheAPIsOwnOnly(t *testing.T) {
	t.Parallel()
	assert.ErrorIs(t, &APIError{Code: "not_found", Status: 404}, ErrNotFound)
	assert.ErrorIs(t, &RejectedError{Err: &APIError{Code: "not_found", Status: 404}}, ErrNotFound)
	for name, err := range map[string]error{
		"404 of a proxy": &APIError{Status: 404, Message: "not_found"},
		"another code":   &APIError{Status: 404, Code: "site_gone"},
		"a field error":  &FieldError{"id", "not_found"},
		"another error":  errors.New("footfall: not found"),
	} {
		assert.NotErrorIs(t, err, ErrNotFound, name)
	}
	assert.NotErrorIs(t, &APIError{Code: "not_found", Status: 404}, ErrClosed)
}

// repeating answers as an API, or a proxy, that repeats the key in its error.
func repeating(body func(key string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, body(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))) // the client may be gone
	}
}

// escapedKey has what encoders of JSON escape, all of them or some.
const escapedKey = `sk/live+"<&>\key`

// errorsOfEachCall returns the error of each operation by a client with escapedKey.
func errorsOfEachCall(t *testing.T, cfg ClientConfig) map[string]error {
	t.Helper()
	cfg.APIKey = escapedKey
	client, err := NewClient(cfg)
	require.NoError(t, err)
	_, sites := client.Sites(t.Context())
	_, site := client.Site(t.Context(), "s")
	sent := client.Send(t.Context(), Event{SiteID: "s", Name: "n", URL: "https://example.com/"})
	return map[string]error{"Sites": sites, "Site": site, "Send": sent}
}

func TestErrorsOfAnswersNeverHoldTheKey(t *testing.T) {
	t.Parallel()
	slashes := strings.NewReplacer("/", `\/`)
	for name, body := range map[string]func(key string) string{
		"as it is":             func(key string) string { return "<p>bad key " + key + "</p>" },
		"twice":                func(key string) string { return key + " " + key },
		"in the error body":    func(key string) string { return errorOf(401, "unauthorized", "bad key "+key) },
		"as the error's code":  func(key string) string { return errorOf(401, key, "bad key") },
		"with escaped slashes": func(key string) string { return slashes.Replace(errorOf(401, "unauthorized", "bad key "+key)) },
		"behind long text":     func(key string) string { return errorOf(401, "unauthorized", strings.Repeat("x", 490)+key) },
		"in some other JSON":   func(key string) string { return slashes.Replace(`{"detail":` + strconv.Quote(key) + `}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(repeating(body))
			t.Cleanup(server.Close)
			for call, err := range errorsOfEachCall(t, ClientConfig{BaseURL: server.URL}) {
				require.Error(t, err, call)
				assert.NotContains(t, err.Error(), "live+", call)
			}
		})
	}
}

// misbehaving is an http.RoundTripper of the application.
type misbehaving func(*http.Request) (*http.Response, error)

func (f misbehaving) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestErrorsOfTheApplicationsHTTPClientNeverHoldTheKey(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]misbehaving{
		"panic": func(r *http.Request) (*http.Response, error) { panic("headers: " + r.Header.Get("Authorization")) },
		"error": func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("headers: %v", r.Header) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := ClientConfig{BaseURL: "https://api.example.com", HTTPClient: &http.Client{Transport: f}}
			for call, err := range errorsOfEachCall(t, cfg) {
				require.Error(t, err, call)
				assert.NotContains(t, err.Error(), "live+", call)
			}
		})
	}
}
