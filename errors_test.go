package footfall

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/internal/wire"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const htmlPage = "<!doctype html><title>Welcome</title>"

// errorOf returns the API's error body.
func errorOf(status int, code, message string) string {
	body, _ := json.Marshal(map[string]any{"error": code, "message": message, "status": status}) // cannot fail
	return string(body)
}

func TestAPIErrorIsTheErrorBodyOfTheContract(t *testing.T) {
	t.Parallel()
	a := wire.Answer{Status: 404, Body: []byte(`{"error":"not_found","message":"no site \"x\"","status":404,"more":1}`)}
	err := failure(&a, "")
	var api *APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, APIError{Code: "not_found", Message: `no site "x"`, Status: 404}, *api)
	assert.EqualError(t, err, `footfall: the API answered 404 not_found: no site "x"`)
	assert.ErrorIs(t, err, ErrNotFound)
}

func TestAPIErrorOfAnUnknownAnswerQuotesIt(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		status int
		body   string
		want   string
	}{
		"page":      {404, " <h1>\n\tNot\r\nFound</h1> ", "footfall: the server answered 404: something other than the API answers; check BaseURL; the answer begins with <h1> Not Found</h1>"},
		"long page": {404, "<!doctype html><html lang=\"en\"><head><title>Shop</title>" + strings.Repeat("<p>", 100), "footfall: the server answered 404: something other than the API answers; check BaseURL; the answer begins with <!doctype html><html lang=\"en\"><head><title>Shop</title><p><p…"},
		"200":       {200, "ok", "footfall: the server answered 200: something other than the API answers; check BaseURL; the answer begins with ok"},
		"nothing":   {404, "", "footfall: the server answered 404: something other than the API answers; check BaseURL; no body"},
		"no body":   {502, " \n", "footfall: the server answered 502: no body; look at the log of the service, and of a proxy before it"},
		"503":       {503, "", "footfall: the server answered 503: no body; look at the log of the service, and of a proxy before it"},
		"503 page":  {503, "<p>Back soon</p>", "footfall: the server answered 503: not the API's error body: <p>Back soon</p>"},
		"429":       {429, "", "footfall: the server answered 429: no body; the service, or a proxy before it, limits the rate of requests"},
		"429 page":  {429, "slow down", "footfall: the server answered 429: not the API's error body: slow down"},
		"408":       {408, "", "footfall: the server answered 408: no body"},
		"401":       {401, "", "footfall: the server answered 401: the key is refused; check Config.APIKey; no body"},
		"401 page":  {401, "<p>Log in</p>", "footfall: the server answered 401: the key is refused; check Config.APIKey; not the API's error body: <p>Log in</p>"},
		"401 JSON":  {401, `{"message":"Unauthorized"}`, `footfall: the server answered 401: the key is refused; check Config.APIKey; not the API's error body: {"message":"Unauthorized"}`},
		"403":       {403, "", "footfall: the server answered 403: the key is refused, or a firewall refuses this request; check Config.APIKey; no body"},
		"403 page":  {403, "blocked", "footfall: the server answered 403: the key is refused, or a firewall refuses this request; check Config.APIKey; not the API's error body: blocked"},
		"redirect":  {302, htmlPage, "footfall: the server answered 302: a redirect, which is never followed; check BaseURL"},
		"not UTF-8": {500, "a\xff\xfeb", "footfall: the server answered 500: not the API's error body: a\uFFFDb"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := wire.Answer{Status: row.status, Body: []byte(row.body)}
			assert.EqualError(t, failure(&a, ""), row.want)
			assert.NotErrorIs(t, failure(&a, ""), ErrNotFound)
		})
	}
}

func TestAPIErrorOfARefusedKeyNamesItsField(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{401: "; check Config.APIKey", 403: "; check Config.APIKey", 400: "", 404: ""} {
		a := wire.Answer{Status: status, Body: []byte(errorOf(status, "refused", "no"))}
		assert.EqualError(t, failure(&a, ""), fmt.Sprintf("footfall: the API answered %d refused: no%s", status, want))
		assert.NotContains(t, failure(&a, "NATS").Error(), "APIKey", "it takes no key of the API")
	}
}

func TestFailureWithoutAnAnswerIsTheErrorOfTheNetwork(t *testing.T) {
	t.Parallel()
	a := wire.Answer{Status: 202, Body: []byte(`{"accepted":true}`), Err: io.ErrUnexpectedEOF}
	assert.Equal(t, io.ErrUnexpectedEOF, failure(&a, ""))
}

func TestAPIErrorOfARefused202SaysSo(t *testing.T) {
	t.Parallel()
	a := wire.Answer{Status: 202, Body: []byte(`{"accepted":false}`)}
	assert.EqualError(t, failure(&a, ""), "footfall: the server answered 202: accepted is false")
}

func TestErrorsInOtherErrorsHaveNoPrefix(t *testing.T) {
	t.Parallel()
	cause := &APIError{Code: "invalid", Message: "no", Status: 400}
	for _, err := range []error{
		&RejectedError{Err: cause}, &FlushError{Err: io.EOF, Cause: cause}, &FlushError{Err: cause},
		&CloseError{Err: cause}, &eventError{"the event was refused", cause},
	} {
		assert.Equal(t, 1, strings.Count(err.Error(), "footfall: "), err)
		assert.ErrorIs(t, err, cause)
	}
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
			for _, a := range []wire.Answer{
				{Status: 400, Body: []byte(text)},
				{Status: 400, Body: []byte(errorOf(400, text, text))},
			} {
				api, _ := errors.AsType[*APIError](failure(&a, ""))
				assert.LessOrEqual(t, len(api.Message), 512)
				assert.LessOrEqual(t, len(api.Code), 64)
				assert.True(t, utf8.ValidString(api.Error()), "%q", api.Error())
				assert.True(t, strings.HasSuffix(api.Message, "…"), "cut text says so")
			}
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

// repeating is an API or a proxy that repeats the key in its error.
func repeating(body func(key string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, body(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))) // the client may be gone
	}
}

// escapedKey contains characters that JSON encoders escape, some of them or all.
const escapedKey = `sk/live+"<&>\key`

// errorsOfEachCall returns the error of each operation of a client with escapedKey.
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

// The contract does not fix the form of ids, so an id with dots is refused by the API only. Its
// refusal then says what is probably wrong.
func TestARejectedEventOfADomainSaysThatSitesHaveIDs(t *testing.T) {
	t.Parallel()
	const hint = "; its site_id looks like a domain: use the id of the site (see Tracker.Check)"
	for site, domain := range map[string]bool{
		"shop.example.com": true, "https://shop.example.com": true, "shop.example.com:8080": true, "EXAMPLE.org": true,
		"site_1": false, "v1.2": false, "a.b": false, "01JD.0": false, "": false, "no host.com": false,
	} {
		body, err := json.Marshal(map[string]string{"site_id": site, "name": "n"})
		require.NoError(t, err)
		e := &RejectedError{Body: body, Err: &APIError{Code: "not_found", Status: 404, Message: "no such site"}}
		assert.Equal(t, domain, strings.HasSuffix(e.Error(), hint), site)
	}
	assert.NotContains(t, (&RejectedError{Body: []byte("shop.example.com"), Err: io.EOF}).Error(), hint)
}

func TestARejectedEventOfAMissingSiteSaysWhereTheSiteIsSet(t *testing.T) {
	t.Parallel()
	const hint = "; set Config.SiteID, or the site of the event, to the id of a site of the account (Tracker.Check lists them)"
	body := []byte(`{"site_id":"site_nothere","name":"n"}`)
	for err, hinted := range map[error]bool{
		&APIError{Code: "not_found", Status: 404, Message: "no"}: true,
		&APIError{Code: "invalid", Status: 400, Message: "no"}:   false,
		io.EOF: false,
	} {
		assert.Equal(t, hinted, strings.HasSuffix((&RejectedError{Body: body, Err: err}).Error(), hint), err)
	}
}

func TestARejectedEventOfAPausedSiteSaysHowToResumeIt(t *testing.T) {
	t.Parallel()
	const hint = "; resume the site in its settings in the dashboard"
	for site, err := range map[string]*APIError{
		"site_1":           {Code: "site_paused", Status: 409, Message: "tracking is paused"},
		"shop.example.com": {Code: "site_paused", Status: 409, Message: "the API knows this site"},
	} {
		text := (&RejectedError{Body: []byte(`{"site_id":"` + site + `","name":"n"}`), Err: err}).Error()
		assert.True(t, strings.HasSuffix(text, err.Message+hint), text)
	}
	for _, err := range []error{&APIError{Code: "conflict", Status: 409, Message: "no"}, &APIError{Status: 409, Message: "site_paused"}, io.EOF} {
		assert.NotContains(t, (&RejectedError{Body: []byte(`{"site_id":"s","name":"n"}`), Err: err}).Error(), hint)
	}
}

func TestARejectedEventHasItsNameAndSite(t *testing.T) {
	t.Parallel()
	for body, event := range map[string]string{
		`{"site_id":"site_1","name":"order_paid","url":"https://example.com/"}`: `event order_paid of site_1 (evt_1)`,
		`{"site_id":"site 1","name":"Order \"paid\"\n"}`:                        `event "Order \"paid\"\n" of "site 1" (evt_1)`,
		`{"site_id":"s","name":"` + strings.Repeat("n", 200) + `"}`:             `event ` + strings.Repeat("n", 100) + ` of s (evt_1)`,
		`{"site_id":"s","name":""}`:                                             `event "" of s (evt_1)`,
		"no JSON":                                                               `event evt_1`,
		"{}":                                                                    `event evt_1`,
	} {
		e := &RejectedError{ID: "evt_1", Body: []byte(body), Err: &APIError{Code: "invalid", Status: 400, Message: "no"}}
		assert.EqualError(t, e, "footfall: "+event+" rejected: the API answered 400 invalid: no")
	}
}

func TestAClientThatUsesTheWrongSchemeSaysWhatToCheck(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	t.Cleanup(secured.Close)
	for base, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1):   "the server does not speak TLS on this port: check scheme and port of BaseURL",
		strings.Replace(secured.URL, "https:", "http:", 1): "something other than the API answers; check BaseURL; the answer begins with Client sent an HTTP request to an HTTPS server.",
	} {
		client, err := NewClient(ClientConfig{BaseURL: base, APIKey: secretKey})
		require.NoError(t, err)
		assert.ErrorContains(t, client.Check(t.Context()), want)
	}
}
