package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/internal/version"
)

// clientOf returns a client of the server at url, with the key of footfalltest.
func clientOf(t *testing.T, url string, change ...func(*footfall.ClientConfig)) *footfall.Client {
	t.Helper()
	cfg := footfall.ClientConfig{BaseURL: url, APIKey: footfalltest.Key}
	for _, f := range change {
		f(&cfg)
	}
	client, err := footfall.NewClient(cfg)
	require.NoError(t, err)
	return client
}

// testServer starts a server for the test. It closes connections first, so that a handler that
// hangs cannot block the end of the test.
func testServer(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// clientAnswered returns a client of a server that always gives the same answer.
func clientAnswered(t *testing.T, status int, body string) *footfall.Client {
	t.Helper()
	return clientOf(t, testServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have read enough
	}).URL)
}

// clientCalls are the three calls of a Client.
func clientCalls() map[string]func(context.Context, *footfall.Client) error {
	return map[string]func(context.Context, *footfall.Client) error{
		"Sites": func(ctx context.Context, c *footfall.Client) error { _, err := c.Sites(ctx); return err },
		"Site":  func(ctx context.Context, c *footfall.Client) error { _, err := c.Site(ctx, "s"); return err },
		"Send":  func(ctx context.Context, c *footfall.Client) error { return c.Send(ctx, oneClientEvent()) },
	}
}

func oneClientEvent() footfall.Event {
	return footfall.Event{SiteID: footfalltest.SiteID, Name: "signup", URL: "https://example.com/"}
}

func TestClientReadsEveryFieldOfASite(t *testing.T) {
	t.Parallel()
	client := clientOf(t, footfalltest.NewAPI(t).URL)
	want := footfall.Site{
		ID: footfalltest.SiteID, Domain: "example.com",
		CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), TrackingActive: true,
	}
	sites, err := client.Sites(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []footfall.Site{want}, sites)
	site, err := client.Site(t.Context(), footfalltest.SiteID)
	require.NoError(t, err)
	assert.Equal(t, want, site)
}

func TestClientSitesAcceptsEveryAnswerOfTheContract(t *testing.T) {
	t.Parallel()
	const a = `{"id":"a","domain":"a.example","created_at":"2026-01-02T03:04:05.678Z","tracking_active":false,"new_field":[1]}`
	const b = `{"id":"b","domain":"","created_at":"2026-01-02T03:04:05+02:00","tracking_active":true}`
	rows := map[string]struct {
		body string
		want []string
	}{
		"none":      {`{"data":[],"meta":{"total":0}}`, []string{}},
		"one":       {`{"data":[` + a + `],"meta":{"total":1}}`, []string{"a"}},
		"two":       {`{"meta":{"total":2,"page":1},"data":[` + a + `,` + b + `],"links":{}}`, []string{"a", "b"}},
		"an indent": {"\n{ \"data\" : [ " + a + " ] , \"meta\" : { \"total\" : 1 } }\n", []string{"a"}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sites, err := clientAnswered(t, 200, row.body).Sites(t.Context())
			require.NoError(t, err)
			ids := make([]string, len(sites))
			for i, s := range sites {
				ids[i] = s.ID
			}
			assert.Equal(t, row.want, ids)
			assert.NotNil(t, sites)
		})
	}
}

func TestClientSitesRefusesAnIncompleteList(t *testing.T) {
	t.Parallel()
	const good = `"id":"a","domain":"d","created_at":"2026-01-01T00:00:00Z","tracking_active":true`
	list := func(site string) string { return `{"data":[{` + site + `}],"meta":{"total":1}}` }
	rows := map[string]struct{ body, says string }{
		"total is greater":  {`{"data":[{` + good + `}],"meta":{"total":2}}`, "reports 2 sites and sent 1"},
		"total is less":     {`{"data":[{` + good + `}],"meta":{"total":0}}`, "reports 0 sites and sent 1"},
		"no total":          {`{"data":[],"meta":{}}`, "lacks"},
		"no meta":           {`{"data":[]}`, "lacks"},
		"no data":           {`{"meta":{"total":0}}`, "lacks"},
		"data is null":      {`{"data":null,"meta":{"total":0}}`, "lacks"},
		"site is null":      {`{"data":[null],"meta":{"total":1}}`, "without id"},
		"no id":             {list(`"domain":"d","created_at":"2026-01-01T00:00:00Z","tracking_active":true`), "without id"},
		"empty id":          {list(strings.Replace(good, `"a"`, `""`, 1)), "without id"},
		"no domain":         {list(strings.Replace(good, "domain", "x", 1)), "without domain"},
		"no created_at":     {list(strings.Replace(good, "created_at", "x", 1)), "without created_at"},
		"no tracking":       {list(strings.Replace(good, "tracking_active", "x", 1)), "without tracking_active"},
		"tracking is null":  {list(strings.Replace(good, "true", "null", 1)), "without tracking_active"},
		"tracking is text":  {list(strings.Replace(good, "true", `"true"`, 1)), "check BaseURL"},
		"time is not one":   {list(strings.Replace(good, "2026-01-01T", "yesterday", 1)), "check BaseURL"},
		"data is an object": {`{"data":{},"meta":{"total":0}}`, "check BaseURL"},
		"cut short":         {`{"data":[{` + good, "check BaseURL"},
		"two documents":     {`{"data":[],"meta":{"total":0}} {}`, "check BaseURL"},
		"page":              {"<html>Welcome</html>", "check BaseURL"},
		"nothing":           {"", "check BaseURL"},
		"null":              {"null", "lacks"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sites, err := clientAnswered(t, 200, row.body).Sites(t.Context())
			assert.ErrorContains(t, err, row.says)
			assert.Nil(t, sites)
		})
	}
}

func TestClientSiteRefusesAnIncompleteAnswer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ body, says string }{
		"no data":   {`{}`, "lacks data"},
		"null data": {`{"data":null}`, "lacks data"},
		"no id":     {`{"data":{"domain":"d"}}`, "without id"},
		"a list":    {`{"data":[]}`, "check BaseURL"},
		"page":      {`<html>`, "check BaseURL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, err := clientAnswered(t, 200, row.body).Site(t.Context(), "s")
			assert.ErrorContains(t, err, row.says)
			assert.Zero(t, site)
		})
	}
}

func TestClientSendsTheRequestOfTheContract(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	server := testServer(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":true}`)
	})
	client := clientOf(t, server.URL+"/base/")
	require.NoError(t, client.Send(t.Context(), footfall.Event{
		SiteID: "site_1", Name: "checkout_completed", URL: "https://example.com/<x>?token=as-given",
		Props: []footfall.Prop{footfall.P("plan", "pro"), footfall.P("mail", "joe@example.com")},
	}))
	assert.Equal(t, "POST /base/v1/events", got.Method+" "+got.URL.String())
	assert.Equal(t, "Bearer "+footfalltest.Key, got.Header.Get("Authorization"))
	assert.Equal(t, "application/json", got.Header.Get("Content-Type"))
	assert.Equal(t, "application/json", got.Header.Get("Accept"))
	assert.Equal(t, version.UserAgent(), got.UserAgent())
	id, err := uuid.Parse(got.Header.Get("Idempotency-Key"))
	require.NoError(t, err)
	assert.Equal(t, uuid.Version(7), id.Version())
	assert.Equal(t, int64(len(body)), got.ContentLength)
	assert.JSONEq(t, `{"site_id":"site_1","name":"checkout_completed","url":"https://example.com/<x>?token=as-given",
		"props":{"plan":"pro","mail":"[redacted]"}}`, string(body))

	require.NoError(t, client.Send(t.Context(), footfall.Event{SiteID: "site_1", Name: "paid", URL: "https://example.com/", ID: "evt_1"}))
	assert.Equal(t, "evt_1", got.Header.Get("Idempotency-Key"))
	assert.Equal(t, `{"site_id":"site_1","name":"paid","url":"https://example.com/"}`, string(body))
}

func TestClientReadsSitesWithoutABody(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		id, want string
	}{
		"list":      {"", "/v1/sites"},
		"plain":     {"site_1", "/v1/sites/site_1"},
		"slash":     {"a/b", "/v1/sites/a%2Fb"},
		"query":     {"a?b=c#d", "/v1/sites/a%3Fb=c%23d"},
		"not ASCII": {"ä b", "/v1/sites/%C3%A4%20b"},
		"percent":   {"100%", "/v1/sites/100%25"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			client := clientOf(t, testServer(t, func(_ http.ResponseWriter, r *http.Request) { got = r }).URL)
			var err error
			if row.id == "" {
				_, err = client.Sites(t.Context())
			} else {
				_, err = client.Site(t.Context(), row.id)
			}
			require.Error(t, err, "200 without a body is no site")
			assert.Equal(t, "GET "+row.want, got.Method+" "+got.RequestURI)
			assert.Equal(t, "Bearer "+footfalltest.Key, got.Header.Get("Authorization"))
			assert.Zero(t, got.ContentLength)
			assert.Empty(t, got.Header.Get("Content-Type"))
		})
	}
}

func TestClientSendRefusesABadEventWithoutARequest(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	client := clientOf(t, api.URL)
	for field, change := range map[string]func(*footfall.Event){
		"site_id": func(e *footfall.Event) { e.SiteID = "" },
		"name":    func(e *footfall.Event) { e.Name = "" },
		"url":     func(e *footfall.Event) { e.URL = "/relative" },
		"props":   func(e *footfall.Event) { e.Props = []footfall.Prop{footfall.P("", "v")} },
	} {
		e := oneClientEvent()
		change(&e)
		wrong, ok := errors.AsType[*footfall.FieldError](client.Send(t.Context(), e))
		require.True(t, ok, field)
		assert.Equal(t, field, wrong.Field)
	}
	e := oneClientEvent()
	e.URL = ""
	assert.EqualError(t, client.Send(t.Context(), e), "footfall: url: empty", "Send looks for no page anywhere else")
	assert.Empty(t, api.Requests())
}

func TestClientSiteOfNoIDIsRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	client := clientOf(t, testServer(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) }).URL)
	_, err := client.Site(t.Context(), "")
	_, ok := errors.AsType[*footfall.FieldError](err)
	assert.True(t, ok, "it would list the sites")
	assert.Zero(t, requests.Load())
}

func TestClientNotFoundIsTheAPIsOwn(t *testing.T) {
	t.Parallel()
	_, err := clientOf(t, footfalltest.NewAPI(t).URL).Site(t.Context(), "site_x")
	assert.ErrorIs(t, err, footfall.ErrNotFound)
	api, ok := errors.AsType[*footfall.APIError](err)
	require.True(t, ok)
	assert.Equal(t, footfall.APIError{Code: "not_found", Message: `no site "site_x"`, Status: 404}, *api)
	for name, body := range map[string]string{
		"page":                 "<html>not_found</html>",
		"nothing":              "",
		"status not repeated":  `{"error":"not_found","message":"m"}`,
		"status of another":    `{"error":"not_found","message":"m","status":400}`,
		"another code":         `{"error":"route_unknown","message":"m","status":404}`,
		"code inside of error": `{"error":{"code":"not_found"},"status":404}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := clientAnswered(t, 404, body).Site(t.Context(), "s")
			assert.NotErrorIs(t, err, footfall.ErrNotFound)
			api, ok := errors.AsType[*footfall.APIError](err)
			require.True(t, ok, "%T", err)
			assert.Equal(t, 404, api.Status)
		})
	}
}

func TestClientGivesEveryOtherAnswerAsAPIError(t *testing.T) {
	t.Parallel()
	for name, call := range clientCalls() {
		for _, status := range []int{201, 202, 204, 304, 400, 401, 403, 404, 407, 408, 409, 413, 422, 429, 500, 503} {
			if name == "Send" && status == 202 {
				status = 200 // Send succeeds with 202, not 200
			}
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				t.Parallel()
				body := fmt.Sprintf(`{"error":"some_code","message":"m","status":%d}`, status)
				err := call(t.Context(), clientAnswered(t, status, body))
				api, ok := errors.AsType[*footfall.APIError](err)
				require.True(t, ok, "%T: %v", err, err)
				assert.Equal(t, status, api.Status)
				assert.NotErrorIs(t, err, footfall.ErrNotFound)
			})
		}
	}
}

func TestClientNeverFollowsARedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	target := testServer(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	application := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	for name, call := range clientCalls() {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				t.Parallel()
				api := testServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL+"/v1/sites", status) })
				for _, httpClient := range []*http.Client{nil, application} {
					err := call(t.Context(), clientOf(t, api.URL, func(c *footfall.ClientConfig) { c.HTTPClient = httpClient }))
					redirect, ok := errors.AsType[*footfall.APIError](err)
					require.True(t, ok, "%T", err)
					assert.Equal(t, status, redirect.Status)
					assert.NotContains(t, err.Error(), target.URL)
				}
			})
		}
	}
	t.Cleanup(func() { assert.Zero(t, reached.Load(), "the key went where nobody said it may go") })
	assert.NoError(t, application.CheckRedirect(nil, nil), "the application's client is not changed")
}

func TestClientReadsAnswersUpToALimit(t *testing.T) {
	t.Parallel()
	for name, call := range clientCalls() {
		for _, status := range []int{200, 202, 500} {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				t.Parallel()
				var written atomic.Int64
				server := testServer(t, endless(status, &written))
				err := call(t.Context(), clientOf(t, server.URL))
				if name != "Send" || status != 202 { // Send accepts a 202 with an endless body
					require.Error(t, err)
					assert.Less(t, len(err.Error()), 1024)
				}
				server.Close() // waits for the handler
				assert.Less(t, written.Load(), int64(40<<20))
			})
		}
	}
}

// endless writes until the client closes the connection or has read far too much.
func endless(status int, written *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		chunk := []byte(strings.Repeat("[", 64<<10))
		var err error
		for n := 0; err == nil && written.Load() < 200<<20; written.Add(int64(n)) { // the bound ends a failing test
			n, err = w.Write(chunk)
		}
	}
}

// An answer of the documented shape may contain a value of any size.
func TestClientErrorsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 1<<20)
	for name, body := range map[string]string{
		"time":    `{"data":{"id":"a","domain":"d","created_at":"` + long + `","tracking_active":true}}`,
		"number":  `{"data":{"id":` + long + `,"domain":"d","created_at":"2026-01-01T00:00:00Z","tracking_active":true}}`,
		"no JSON": long + "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := clientAnswered(t, 200, body).Site(t.Context(), "a")
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 1024)
		})
	}
}

func TestClientEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, call := range clientCalls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{})
			client := clientOf(t, testServer(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client disconnects
				close(reached)
				<-r.Context().Done()
			}).URL)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-reached; cancel() }()
			assert.ErrorIs(t, call(ctx, client), context.Canceled)
		})
	}
}

// midway cancels its context once the beginning of an answer's body has arrived.
type midway struct {
	io.ReadCloser
	cancel func()
}

func (m midway) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.cancel()
	return n, err
}

type midwayTransport func()

func (cancel midwayTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		resp.Body = midway{resp.Body, cancel}
	}
	return resp, err
}

// A truncated answer does not mean that BaseURL is wrong.
func TestClientReadsSayWhyAnAnswerWasCut(t *testing.T) {
	t.Parallel()
	server := testServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":`)
		_ = http.NewResponseController(w).Flush()
		if r.Header.Get("Authorization") == "Bearer break" {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	})
	for name, call := range clientCalls() {
		if name == "Send" {
			continue // the status is the answer
		}
		t.Run(name+" by its context", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			application := &http.Client{Transport: midwayTransport(cancel)}
			err := call(ctx, clientOf(t, server.URL, func(c *footfall.ClientConfig) { c.HTTPClient = application }))
			assert.ErrorIs(t, err, context.Canceled)
			assert.NotContains(t, fmt.Sprint(err), "check BaseURL")
		})
		t.Run(name+" by the network", func(t *testing.T) {
			t.Parallel()
			err := call(t.Context(), clientOf(t, server.URL, func(c *footfall.ClientConfig) { c.APIKey = "break" }))
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
			assert.NotContains(t, fmt.Sprint(err), "check BaseURL")
		})
	}
}

func TestClientTimeoutBoundsACall(t *testing.T) {
	t.Parallel()
	for name, call := range clientCalls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testServer(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})
			client := clientOf(t, server.URL, func(c *footfall.ClientConfig) { c.Timeout = 20 * time.Millisecond })
			assert.ErrorIs(t, call(t.Context(), client), context.DeadlineExceeded)
			assert.NoError(t, t.Context().Err())
		})
	}
}

func TestClientGivesErrorsOfTheNetwork(t *testing.T) {
	t.Parallel()
	for name, call := range clientCalls() {
		err := call(t.Context(), clientOf(t, "http://127.0.0.1:1"))
		require.Error(t, err, name)
		_, answered := errors.AsType[*footfall.APIError](err)
		assert.False(t, answered, "nobody answered")
		assert.NotContains(t, err.Error(), footfalltest.Key)
	}
}

func TestClientAllowsPersonalDataWithAllowPII(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	for _, change := range []func(*footfall.ClientConfig){
		func(c *footfall.ClientConfig) { c.AllowPII = true },
		func(c *footfall.ClientConfig) { c.AllowPIIKeys = []string{"version"} },
	} {
		e := oneClientEvent()
		e.Props = []footfall.Prop{footfall.P("version", "1.2.3.4")}
		require.NoError(t, clientOf(t, api.URL, change).Send(t.Context(), e))
	}
	for _, e := range api.Events() {
		assert.Equal(t, map[string]any{"version": "1.2.3.4"}, e.Props)
	}
	assert.Len(t, api.Events(), 2)
}
