package footfallgqlgen_test

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

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
	"github.com/footfall-dev/footfall/footfalltest"
)

// newServer is the server of an application. It refuses operations with more than 20 root fields.
func newServer(running *atomic.Int32) *handler.Server {
	server := handler.New(newSchema(running))
	server.AddTransport(transport.Websocket{
		KeepAlivePingInterval: time.Hour,
		InitFunc: func(ctx context.Context, _ transport.InitPayload) (context.Context, *transport.InitPayload, error) {
			return footfall.WithSite(ctx, "site_of_socket"), nil, nil
		},
	})
	server.AddTransport(transport.Options{})
	server.AddTransport(transport.SSE{})
	server.AddTransport(transport.GET{})
	server.AddTransport(batch{})
	server.AddTransport(transport.POST{})
	server.AddTransport(transport.MultipartForm{MaxMemory: 100})
	server.SetQueryCache(lru.New[*ast.QueryDocument](100))
	server.SetRecoverFunc(func(context.Context, any) error { return errors.New("internal system error") })
	server.Use(extension.Introspection{})
	server.Use(extension.AutomaticPersistedQuery{Cache: lru.New[string](100)})
	return server
}

// host is a running application.
type host struct {
	*testing.T
	*footfalltest.Tracker
	url     string
	running atomic.Int32
}

// around puts middlewares around the handler of an application.
type around func(tracker *footfall.Tracker, h http.Handler) http.Handler

// serve starts an application with the adapter.
func serve(t *testing.T, rules []footfall.Rule, outer ...around) *host {
	t.Helper()
	h := &host{T: t, Tracker: footfalltest.New(t)}
	server := newServer(&h.running)
	handler := footfallgqlgen.Middleware(h.Tracker.Tracker, rules...)(server)
	server.Use(limit{})
	for _, with := range outer {
		handler = with(h.Tracker.Tracker, handler)
	}
	h.start(handler)
	return h
}

// serveBare starts the application without the adapter.
func serveBare(t *testing.T) *host {
	t.Helper()
	h := &host{T: t}
	server := newServer(&h.running)
	server.Use(limit{})
	h.start(server)
	return h
}

func (h *host) start(handler http.Handler) {
	server := httptest.NewServer(handler)
	h.Cleanup(server.Close)
	h.url = server.URL + "/query"
}

// post sends an operation and returns the status and the body of the answer.
func (h *host) post(query string) (status int, body string) {
	h.Helper()
	return h.send("POST", "application/json", fmt.Sprintf(`{"query":%q}`, query))
}

func (h *host) send(method, contentType, body string) (status int, answer string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url, strings.NewReader(body))
	require.NoError(h, err)
	r.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(h, err)
	return resp.StatusCode, string(text)
}

// expect waits for the names of all events.
func (h *host) expect(names ...string) {
	h.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for len(h.Names()) < len(names) && time.Now().Before(deadline) { // the client may have the answer before the server has ended
		time.Sleep(time.Millisecond)
	}
	if len(names) == 0 {
		time.Sleep(50 * time.Millisecond)
	}
	require.ElementsMatch(h, names, h.Names())
}

var everything = footfall.Rule{Route: footfall.AnyRoute}

// classes are rules that name an event after the class of the operation's status.
func classes(route string) []footfall.Rule {
	return []footfall.Rule{
		{Route: route, Event: "success", Status: footfall.Success, StatusProp: "status"},
		{Route: route, Event: "client error", Status: footfall.Status4xx, StatusProp: "status"},
		{Route: route, Event: "server error", Status: footfall.Status5xx, StatusProp: "status"},
		{Route: route, Event: "aborted", Status: footfall.Aborted},
	}
}
