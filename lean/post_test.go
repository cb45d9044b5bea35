package lean

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

const (
	acceptance = "HTTP/1.1 202 Accepted\r\nContent-Length: 17\r\n\r\n{\"accepted\":true}"
	refusal    = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
)

// newPosterTo returns a poster that connects with dial.
func newPosterTo(t *testing.T, dial func(context.Context) (net.Conn, error)) *poster {
	t.Helper()
	p := &poster{head: func() []byte { return []byte("POST / HTTP/1.1\r\nHost: x\r\n") }, pool: newPool(dial), timeout: 10 * time.Second}
	t.Cleanup(p.Close)
	return p
}

// post posts one event.
func (p *poster) post(ctx context.Context) (footfall.Answer, error) {
	var a footfall.Answer
	err := p.Post(ctx, footfall.Record{ID: footfall.EventID{1}, Body: []byte("{}")}, &a)
	return a, err
}

// api is a server on a loopback socket that accepts every event. Its functions may use the
// connection before the answer.
type api struct {
	addr      string
	onAccept  func(net.Conn) net.Conn
	onRequest func(conn net.Conn, n int) // called after the nth request, from 0, and before the answer

	requests atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

func (a *api) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a.addr = listener.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			serving.Go(func() { a.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		a.mu.Lock()
		for _, conn := range a.conns {
			conn.Close()
		}
		a.mu.Unlock()
		serving.Wait()
	})
}

func (a *api) serve(conn net.Conn) {
	if a.onAccept != nil {
		conn = a.onAccept(conn)
	}
	a.mu.Lock()
	a.conns = append(a.conns, conn)
	a.mu.Unlock()
	in := bufio.NewReader(conn)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		a.requests.Add(1)
		if a.onRequest != nil {
			a.onRequest(conn, n)
		}
		if _, err := io.WriteString(conn, acceptance); err != nil {
			return
		}
	}
}

// made returns the connections that were made.
func (a *api) made() []net.Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]net.Conn(nil), a.conns...)
}

// answering is a connection with an immediate answer. Reading it ends a context.
type answering struct {
	net.Conn
	answer io.Reader
	end    context.CancelFunc
}

func (c *answering) Write(b []byte) (int, error) { return len(b), nil }

func (c *answering) Read(b []byte) (int, error) {
	c.end()
	return c.answer.Read(b)
}

func TestAnswerThatWasReadCountsAfterTheDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		status int
	}{"accepted": {acceptance, 202}, "refused": {refusal, 400}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			near, far := net.Pipe()
			defer far.Close()
			p := newPosterTo(t, func(context.Context) (net.Conn, error) {
				return &answering{near, strings.NewReader(tt.answer), cancel}, nil
			})
			a, err := p.post(ctx)
			require.NoError(t, err)
			assert.Equal(t, tt.status, a.Status)
			assert.Error(t, ctx.Err())
		})
	}
}

func TestErrorOfAnInterruptedAttemptIsTheDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	near, far := net.Pipe()
	defer far.Close()
	p := newPosterTo(t, func(context.Context) (net.Conn, error) {
		return &answering{near, strings.NewReader(acceptance[:20]), cancel}, nil
	})
	_, err := p.post(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}
