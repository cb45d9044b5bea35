package footfallgqlgen_test

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
)

// question is a request of HTTP.
type question struct {
	method, query string
	header        []string // names and values
	body          string
}

const jsonType = "application/json"

func posted(body string, header ...string) question {
	return question{method: "POST", header: append([]string{"Content-Type", jsonType}, header...), body: body}
}

func got(query, variables string) question {
	values := url.Values{"query": {query}}
	if variables != "" {
		values.Set("variables", variables)
	}
	return question{method: "GET", query: values.Encode()}
}

// uploaded is a form with a file of n bytes.
func uploaded(t *testing.T, n int, operations string) question {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(t, form.SetBoundary("boundary"))
	require.NoError(t, form.WriteField("operations", operations))
	require.NoError(t, form.WriteField("map", `{"0":["variables.file"]}`))
	file, err := form.CreateFormFile("0", "a.txt")
	require.NoError(t, err)
	_, err = io.WriteString(file, strings.Repeat("a", n))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	return question{method: "POST", header: []string{"Content-Type", form.FormDataContentType()}, body: body.String()}
}

// conversations are requests of one client, by what they show.
func conversations(t *testing.T) map[string][]question {
	const upload = `{"query":"mutation U($file: Upload!) {upload(file: $file)}","variables":{"file":null}}`
	stream := []string{"Accept", "text/event-stream"}
	return map[string][]question{
		"a query":              {posted(`{"query":"query Products {products}"}`)},
		"again":                {posted(`{"query":"query Products {products}"}`), posted(`{"query":"query Products {products}"}`)},
		"a mutation":           {posted(`{"query":"mutation Checkout {checkout}"}`)},
		"an error":             {posted(`{"query":"mutation Checkout {checkout(code: \"FORBIDDEN\")}"}`)},
		"a panic":              {posted(`{"query":"mutation Checkout {checkout(code: \"panic\")}"}`)},
		"partial data":         {posted(`{"query":"query Q {products account(code: \"none\")}"}`)},
		"a subscription":       {posted(`{"query":"subscription S {stockChanged}"}`)},
		"newer content type":   {posted(`{"query":"query Products {products}"}`, "Accept", "application/graphql-response+json"), posted(`{"query":"{secret}"}`, "Accept", "application/graphql-response+json")},
		"introspection":        {posted(`{"query":"query I {__schema {types {name fields {name}}}}"}`)},
		"no JSON":              {posted(`{"query":`)},
		"an array":             {posted(`[{"query":"{products}"}]`)},
		"nothing":              {posted(``), posted(`null`), posted(`{}`)},
		"not GraphQL":          {posted(`{"query":"query Q {"}`)},
		"an unknown field":     {posted(`{"query":"query Q {secret}"}`)},
		"an unknown operation": {posted(`{"query":"query Q {products}","operationName":"R"}`)},
		"a long name":          {posted(`{"query":"query ` + strings.Repeat("a", 401) + ` {products}"}`)},
		"a wrong variable":     {posted(`{"query":"query Q($c: String!) {account(code: $c)}","variables":{"c":7}}`)},
		"too complex":          {posted(`{"query":"query Q {` + aliases(21) + `}"}`)},
		"persisted queries":    {posted(apq("")), posted(apq(persisted)), posted(apq(""))},
		"another hash":         {posted(strings.Replace(apq(persisted), "Persisted", "Other", 1))},
		"GET":                  {got("query Products {products}", ""), got("query Q($c: String) {account(code: $c)}", `{"c":"none"}`)},
		"GET of a mutation":    {got("mutation Checkout {checkout}", "")},
		"GET of no JSON":       {got("{products}", "{"), {method: "GET"}, {method: "GET", query: "query=%zz"}},
		"GET of no GraphQL":    {got("{", ""), got("{secret}", "")},
		"OPTIONS and others":   {{method: "OPTIONS"}, {method: "PUT"}, {method: "HEAD"}, {method: "POST", header: []string{"Content-Type", "text/plain"}}},
		"a file":               {uploaded(t, 10, upload)},
		"a large file":         {uploaded(t, 100_000, upload)},
		"a form without JSON":  {uploaded(t, 10, "{")},
		"a batch":              {{method: "POST", header: []string{"Content-Type", "application/batch+json"}, body: `[{"query":"query A {products}"},{"query":"{secret}"},{"query":"mutation {checkout(code: \"panic\")}"}]`}},
		"a stream":             {posted(`{"query":"subscription S {stockChanged}"}`, stream...)},
		"a stream that fails":  {posted(`{"query":"subscription S {stockChanged(code: \"FORBIDDEN\")}"}`, stream...), posted(`{"query":"subscription S {stockChanged(code: \"panic\")}"}`, stream...)},
		"a query as a stream":  {posted(`{"query":"query Products {products}"}`, stream...), posted(`{"query":"{secret}"}`, stream...), posted(`{`, stream...)},
		"no WebSocket":         {{method: "GET", header: []string{"Upgrade", "websocket"}}},
	}
}

// answer is what a client can see of an answer.
type answer struct {
	status int
	header http.Header
	body   string
}

func (h *host) ask(q question) answer {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), q.method, h.url+"?"+q.query, strings.NewReader(q.body))
	require.NoError(h, err)
	for i := 0; i < len(q.header); i += 2 {
		r.Header.Set(q.header[i], q.header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(h, err)
	resp.Header.Del("Date")
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestAnswersAreTheSame(t *testing.T) {
	t.Parallel()
	for name, questions := range conversations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare := serveBare(t)
			for around, with := range map[string]around{
				"alone":              func(_ *footfall.Tracker, h http.Handler) http.Handler { return h },
				"below a middleware": middleware,
			} {
				h := serve(t, []footfall.Rule{everything, {Route: footfall.NoRoute}}, with)
				for i, q := range questions {
					if i == 0 || name != "persisted queries" || around == "alone" {
						want := bare.ask(q)
						assert.NotZero(t, want.status)
						assert.Equal(t, want, h.ask(q), "%s: question %d", around, i)
					}
				}
				if name == "persisted queries" {
					break // the bare application remembers them
				}
			}
		})
	}
}

// middleware is the tracker's middleware for net/http around a mux.
func middleware(tracker *footfall.Tracker, h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/query", h)
	return tracker.Middleware(everything)(mux)
}

// panics is an extension that panics.
type panics struct{}

func (panics) ExtensionName() string                   { return "Panics" }
func (panics) Validate(graphql.ExecutableSchema) error { return nil }
func (panics) InterceptOperation(context.Context, graphql.OperationHandler) graphql.ResponseHandler {
	panic("oops")
}

// silent is an extension that answers nothing.
type silent struct{ panics }

func (silent) InterceptOperation(context.Context, graphql.OperationHandler) graphql.ResponseHandler {
	return func(context.Context) *graphql.Response { return nil }
}

// failing is an extension that panics when the answer is made.
type failing struct{ panics }

func (failing) InterceptOperation(context.Context, graphql.OperationHandler) graphql.ResponseHandler {
	return func(context.Context) *graphql.Response { panic("oops") }
}

func TestOtherExtensionsBehaveAsWithoutTheAdapter(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		extension graphql.HandlerExtension
		want      int
	}{"a panic": {panics{}, 500}, "no answer": {silent{}, 200}, "a late panic": {failing{}, 500}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare, h := &host{T: t}, &host{T: t, Tracker: newTracker(t)}
			with := func(h *host) *handler.Server {
				server := newServer(&h.running)
				server.Use(tc.extension)
				return server
			}
			bare.start(with(bare))
			server := newServer(&h.running)
			watched := footfallgqlgen.Middleware(h.Tracker.Tracker, classes("query Q")...)(server)
			server.Use(tc.extension)
			h.start(watched)
			q := posted(`{"query":"query Q {products}"}`)
			assert.Equal(t, bare.ask(q), h.ask(q))
			h.expectStatus(tc.want)
		})
	}
}

// detached is an extension that loses the context.
type detached struct{ panics }

func (detached) InterceptOperation(_ context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	return next(context.Background())
}

// cached is an extension that answers by itself.
type cached struct{ panics }

func (cached) InterceptOperation(context.Context, graphql.OperationHandler) graphql.ResponseHandler {
	return graphql.OneShot(&graphql.Response{Data: []byte(`{"products":["cached"]}`)})
}

func TestAnOperationWithoutItsContextIsAnswered(t *testing.T) {
	t.Parallel()
	h := &host{T: t, Tracker: newTracker(t)}
	server := newServer(&h.running)
	server.Use(detached{})
	watched := footfallgqlgen.Middleware(h.Tracker.Tracker, everything)(server)
	server.Use(cached{})
	h.start(watched)
	_, body := h.post("query Q {products}")
	assert.JSONEq(t, `{"data":{"products":["cached"]}}`, body)
}

// deferred is an extension that answers in two parts, as @defer does. The second one fails.
type deferred struct{ panics }

func (deferred) InterceptOperation(context.Context, graphql.OperationHandler) graphql.ResponseHandler {
	n := 0
	return func(context.Context) *graphql.Response {
		n++
		switch n {
		case 1:
			return &graphql.Response{Data: []byte(`{"products":["tea"]}`), HasNext: new(true)}
		case 2:
			return &graphql.Response{Errors: gqlerror.List{{Message: "late", Extensions: map[string]any{"code": "NOT_FOUND"}}}, HasNext: new(false)}
		}
		return nil
	}
}

func TestADeferredAnswerCountsOnceWithAllItsParts(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]int{"text/event-stream": 404, jsonType: 200} { // a POST gets the first part only
		h := &host{T: t, Tracker: newTracker(t)}
		server := newServer(&h.running)
		watched := footfallgqlgen.Middleware(h.Tracker.Tracker, classes("query Q")...)(server)
		server.Use(deferred{})
		h.start(watched)
		assert.Equal(t, http.StatusOK, h.ask(posted(`{"query":"query Q {products}"}`, "Accept", accept)).status)
		h.expectStatus(want)
		time.Sleep(20 * time.Millisecond)
		h.expectStatus(want)
	}
}
