package footfallgqlgen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// protocol is a protocol of GraphQL over WebSocket, with the types of its messages.
type protocol struct{ name, start, stop string }

var protocols = []protocol{{"graphql-transport-ws", "subscribe", "complete"}, {"graphql-ws", "start", "stop"}}

// socket is a WebSocket of a client.
type socket struct {
	*testing.T
	protocol
	conn *websocket.Conn
}

func (h *host) dial(p protocol) *socket {
	h.Helper()
	conn, _, err := websocket.Dial(h.Context(), h.url, &websocket.DialOptions{Subprotocols: []string{p.name}})
	require.NoError(h, err)
	h.Cleanup(func() { _ = conn.CloseNow() })
	s := &socket{h.T, p, conn}
	s.send(`{"type":"connection_init"}`)
	return s
}

func (s *socket) send(message string) {
	s.Helper()
	require.NoError(s, s.conn.Write(s.Context(), websocket.MessageText, []byte(message)))
}

func (s *socket) begin(id, query string) {
	s.Helper()
	s.send(fmt.Sprintf(`{"id":%q,"type":%q,"payload":{"query":%q}}`, id, s.start, query))
}

// receive returns messages up to and with the first that contains the text.
func (s *socket) receive(text string) (messages []string) {
	s.Helper()
	for {
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		_, message, err := s.conn.Read(ctx)
		cancel()
		require.NoError(s, err, "waiting for %s after %v", text, messages)
		messages = append(messages, string(message))
		if strings.Contains(string(message), text) {
			return messages
		}
	}
}

// ended is the text of the message that ends an operation.
func ended(id string) string { return fmt.Sprintf(`{"id":%q,"type":"complete"`, id) }

// overSockets runs a test with each protocol.
func overSockets(t *testing.T, test func(t *testing.T, p protocol)) {
	t.Parallel()
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func TestMessagesOverAWebSocketAreTheSame(t *testing.T) {
	overSockets(t, func(t *testing.T, p protocol) {
		for _, query := range []string{
			"query Products {products}", "mutation M {checkout(code: \"FORBIDDEN\")}", "query Q {products account(code: \"panic\")}",
			"subscription S {stockChanged}", "subscription S {stockChanged(code: \"none\")}", "subscription S {stockChanged(code: \"panic\")}",
			"query Q {secret}", "query Q {", "query Q {" + aliases(21) + "}",
		} {
			talk := func(h *host) []string {
				s := h.dial(p)
				s.begin("1", query)
				return s.receive(ended("1"))
			}
			bare, watched := serveBare(t), serve(t, []footfall.Rule{everything, {Route: footfall.NoRoute}}, middleware)
			want := talk(bare)
			assert.Greater(t, len(want), 1)
			assert.Equal(t, want, talk(watched), query)
		}
	})
}

func TestASubscriptionCountsOnceWhenItHasEnded(t *testing.T) {
	overSockets(t, func(t *testing.T, p protocol) {
		for text, want := range map[string]int{
			"{stockChanged}":                       200,
			`{stockChanged(code: "UNAUTHORIZED")}`: 401,
			`{stockChanged(code: "panic")}`:        500,
		} {
			h := serve(t, classes("subscription StockChanged"))
			s := h.dial(p)
			s.begin("1", "subscription StockChanged "+text)
			messages := s.receive(ended("1"))
			if want == 200 {
				assert.GreaterOrEqual(t, len(messages), 5)
			}
			h.expectStatus(want)
			assert.Zero(t, h.running.Load())
		}
	})
}

func TestASubscriptionEndsWithTheClient(t *testing.T) {
	overSockets(t, func(t *testing.T, p protocol) {
		for name, leave := range map[string]func(*socket){
			"it stops":  func(s *socket) { s.send(fmt.Sprintf(`{"id":"1","type":%q}`, s.stop)) },
			"it closes": func(s *socket) { _ = s.conn.Close(websocket.StatusNormalClosure, "") },
			"it is cut": func(s *socket) { _ = s.conn.CloseNow() },
		} {
			h := serve(t, classes("subscription StockChanged"))
			s := h.dial(p)
			s.begin("1", `subscription StockChanged {stockChanged(code: "endless")}`)
			s.receive("stockChanged")
			h.expect()
			leave(s)
			h.expectStatus(200)
			assert.Eventually(t, func() bool { return h.running.Load() == 0 }, 10*time.Second, time.Millisecond, name)
		}
	})
}

func TestEachOperationOfAWebSocketCounts(t *testing.T) {
	overSockets(t, func(t *testing.T, p protocol) {
		h := serve(t, []footfall.Rule{everything, {Route: footfall.NoRoute}}, middleware)
		s := h.dial(p)
		for i, query := range []string{"query A {products}", "mutation B {checkout}", "subscription C {stockChanged}", "{account}"} {
			s.begin(fmt.Sprint(i), query)
			s.receive(ended(fmt.Sprint(i)))
		}
		s.begin("9", "{secret}")
		s.receive("secret")
		names := []string{"query_a", "mutation_b", "subscription_c", "query_account", "get_no_route"}
		h.expect(names...)
		for _, e := range h.Events() {
			assert.Equal(t, "site_of_socket", e.SiteID, e.Name)
		}
		_ = s.conn.CloseNow()
		time.Sleep(50 * time.Millisecond)
		h.expect(names...) // the connection itself makes none
	})
}

// stream opens a subscription over SSE, and returns when its first message has arrived.
func (h *host) stream(query string) (leave func()) {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	text, err := json.Marshal(map[string]string{"query": query})
	require.NoError(h, err)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(string(text)))
	require.NoError(h, err)
	r.Header.Set("Content-Type", jsonType)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	var read strings.Builder
	for buffer := make([]byte, 1000); !strings.Contains(read.String(), "stockChanged"); {
		n, err := resp.Body.Read(buffer)
		require.NoError(h, err)
		read.Write(buffer[:n])
	}
	return func() {
		cancel()
		_ = resp.Body.Close()
	}
}

func TestASubscriptionOverSSECountsOnceWhenItHasEnded(t *testing.T) {
	t.Parallel()
	h := serve(t, append(classes("subscription StockChanged"), everything), middleware)
	h.send("POST", "application/json", `{"query":"subscription StockChanged {stockChanged}"}`) // the first message only
	h.expect("success")
	leave := h.stream(`subscription Endless {stockChanged(code: "endless")}`)
	time.Sleep(20 * time.Millisecond)
	h.expect("success")
	leave()
	h.expect("success", "subscription_endless")
	assert.Eventually(t, func() bool { return h.running.Load() == 0 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, 3, strings.Count(h.ask(posted(`{"query":"subscription StockChanged {stockChanged}"}`, "Accept", "text/event-stream")).body, "data:"))
	h.expect("success", "subscription_endless", "success")
}

func TestNoGoroutineIsLeftOfSubscriptions(t *testing.T) { // not parallel: it counts
	h := serve(t, []footfall.Rule{everything})
	count := func(n int) int {
		for range n {
			s := h.dial(protocols[0])
			s.begin("1", `subscription S {stockChanged(code: "endless")}`)
			s.receive("stockChanged")
			_ = s.conn.CloseNow()
			h.stream(`subscription S {stockChanged(code: "endless")}`)()
		}
		deadline := time.Now().Add(10 * time.Second)
		for h.running.Load() > 0 && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		return runtime.NumGoroutine()
	}
	before := count(1)
	assert.InDelta(t, before, count(50), 5)
	assert.Len(t, h.Names(), 102)
}
