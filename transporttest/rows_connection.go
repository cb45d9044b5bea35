package transporttest

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// connectionRows test connections: their number, their lifetime, and events on connections
// that break.
var connectionRows = []row{
	{"connections are reused, and no more than MaxInFlight", connectionsAreReused},
	{"a connection broken before the answer is retried with the same key", brokenBeforeTheAnswer},
	{"a kept connection that the server closes costs nothing", closedWhileKept},
	{"a kept connection that breaks during a request is no outage", brokenWhileUsed},
	{"a new connection that breaks is a failed attempt", brokenWhileNew},
	{"early answers do not mix events", earlyAnswers},
	{"large events arrive whole", largeEvents},
	{"an answer to an unread event counts", unreadEvent},
	{"Connection: close and HTTP/1.0 are obeyed", connectionsThatEnd},
	{"HTTP/1.0 can keep its connection", keptByHTTP10},
}

func connectionsAreReused(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	r := start(t, open, api.Config(), func(c *footfall.Config) { c.MaxInFlight = 4 })
	for range 20 {
		r.deliver(t, 50)
	}
	assert.Len(t, api.Events(), 1000)
	assert.LessOrEqual(t, api.Connections(), 4)
}

func brokenBeforeTheAnswer(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Next(footfalltest.AcceptThenReset(), footfalltest.Reset(), footfalltest.AcceptThenReset())
	r := start(t, open, api.Config(), alone)
	r.deliver(t, 1)
	sameOnEveryAttempt(t, api, 4)
	assert.Len(t, api.Events(), 1, "an API that heeds the key counts it once")
	r.counts(t, 1, 0)
}

// Servers close idle connections without notice.
func closedWhileKept(t *testing.T, open Open) {
	w := newWire(t)
	r := start(t, open, config(w.url), alone, patient)
	for range 20 {
		w.script(reply{accepted, shut})
		r.deliver(t, 1)
	}
	r.counts(t, 20, 0)
	made, _ := w.connections()
	assert.Equal(t, 20, made)
	assert.Empty(t, r.String())
}

// A restarting server breaks open requests. The retry has the same id, so an API that had
// accepted the event does not count it twice.
func brokenWhileUsed(t *testing.T, open Open) {
	w := newWire(t, reply{accepted, keep}, reply{"", shut})
	r := start(t, open, config(w.url), alone, patient)
	r.deliver(t, 1)
	r.deliver(t, 1)
	r.counts(t, 2, 0)
	got := w.requests()
	require.Len(t, got, 3)
	assert.Equal(t, got[1], got[2])
	assert.Empty(t, r.String())
}

func brokenWhileNew(t *testing.T, open Open) {
	w := newWire(t, reply{"", shut})
	r := start(t, open, config(w.url), alone, patient)
	r.track(t, 1)
	assert.False(t, r.settles(300*time.Millisecond))
	assert.Len(t, w.requests(), 1, "the next attempt waits")
	require.NoError(t, r.close(10*time.Second))
}

// If a server answers before it has read the body, the next request must still start with its
// own bytes.
func earlyAnswers(t *testing.T, open Open) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go answerEarly(listener)
	r := start(t, open, config("http://"+listener.Addr().String()), func(c *footfall.Config) { c.Limits.PropText = 20_000 })
	for range 200 {
		require.NoError(t, r.Track(t.Context(), "tested", footfall.P("p", strings.Repeat("x", 20_000))))
	}
	r.flush(t)
	r.counts(t, 200, 0)
	require.NoError(t, r.close(time.Second))
}

// answerEarly answers each connection's first request after its first line, and closes.
func answerEarly(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = bufio.NewReader(conn).ReadString('\n')
			fmt.Fprint(conn, strings.Replace(accepted, "\r\n", "\r\nConnection: close\r\n", 1))
		}()
	}
}

func largeEvents(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	r := start(t, open, api.Config(), func(c *footfall.Config) {
		c.MaxEventBytes, c.Limits.PropText, c.MaxQueueBytes, c.MaxInFlight = 1<<20, 1<<20, 64<<20, 4
	})
	large := strings.Repeat("x", 900<<10)
	for range 20 {
		require.NoError(t, r.Track(t.Context(), "tested", footfall.P("p", large)))
	}
	r.flush(t)
	r.counts(t, 20, 0)
	whole := make(map[string]bool) // an attempt that takes long may be interrupted, and the event sent again
	for _, got := range api.Requests() {
		whole[got.Header.Get("Idempotency-Key")] = bytes.Contains(got.Body, []byte(large))
	}
	assert.Len(t, whole, 20)
	assert.NotContains(t, slices.Collect(maps.Values(whole)), false)
}

// A server that refuses an event for its size need not read it, and may keep the connection.
func unreadEvent(t *testing.T, open Open) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); close(done) })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go answerUnread(conn, done)
		}
	}()
	r := start(t, open, config("http://"+listener.Addr().String()), alone, func(c *footfall.Config) {
		c.MaxEventBytes, c.Limits.PropText, c.MaxQueueBytes, c.AttemptTimeout = 32<<20, 32<<20, 64<<20, time.Minute
	})
	for range 2 { // each needs another connection
		require.NoError(t, r.Track(t.Context(), "tested", footfall.P("p", strings.Repeat("x", 16<<20))))
	}
	assert.True(t, r.settles(20*time.Second))
	r.counts(t, 0, 2)
	require.NoError(t, r.close(time.Second))
}

// answerUnread refuses the first event of a connection and does not read it.
func answerUnread(conn net.Conn, done <-chan struct{}) {
	defer conn.Close()
	_, _ = bufio.NewReader(conn).ReadString('\n')
	const body = `{"error":"too_large","message":"","status":413}`
	fmt.Fprintf(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	<-done
}

func connectionsThatEnd(t *testing.T, open Open) {
	for name, answer := range map[string]reply{ // an answer that hangs reads no other request
		"close":                   {strings.Replace(accepted, "\r\n", "\r\nConnection: close\r\n", 1), hang},
		"Close":                   {strings.Replace(accepted, "\r\n", "\r\nConnection: Close\r\n", 1), hang},
		"HTTP/1.0":                {"HTTP/1.0 202 Accepted\r\nContent-Length: 17\r\n\r\n{\"accepted\":true}", hang},
		"HTTP/1.0 without length": {"HTTP/1.0 202 Accepted\r\n\r\n{\"accepted\":true}", shut},
		"without length":          {"HTTP/1.1 202 Accepted\r\n\r\n{\"accepted\":true}", shut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			r := start(t, open, config(w.url), alone, patient)
			for range 10 {
				w.script(answer)
				r.deliver(t, 1)
			}
			r.counts(t, 10, 0)
			assert.Len(t, w.requests(), 10)
			assert.Zero(t, r.Lines(slog.LevelWarn))
		})
	}
}

func keptByHTTP10(t *testing.T, open Open) {
	w := newWire(t)
	r := start(t, open, config(w.url), alone, patient)
	for range 10 {
		w.script(reply{"HTTP/1.0 202 Accepted\r\nConnection: keep-alive\r\nContent-Length: 17\r\n\r\n{\"accepted\":true}", keep})
		r.deliver(t, 1)
	}
	r.counts(t, 10, 0)
	made, _ := w.connections()
	assert.Equal(t, 1, made)
}
