//go:build unix

package lean

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// awaitArrival returns when data has arrived on a connection.
func awaitArrival(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(*socket).Conn.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var got error
		require.NoError(t, raw.Control(func(fd uintptr) {
			_, _, got = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		}))
		return got != syscall.EAGAIN
	}, 10*time.Second, time.Millisecond)
}

// idleOf returns the only idle connection.
func idleOf(t *testing.T, p *poster) *conn {
	t.Helper()
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	require.Len(t, p.pool.idle, 1)
	return p.pool.idle[0]
}

// A connection is checked even right after its last use.
func TestAnswerBetweenTwoEventsIsNotTheSecondEvents(t *testing.T) {
	for name, push := range map[string]func(net.Conn){
		"an answer":           func(c net.Conn) { _, _ = io.WriteString(c, refusal) },
		"a byte":              func(c net.Conn) { _, _ = io.WriteString(c, "H") },
		"an empty line":       func(c net.Conn) { _, _ = io.WriteString(c, "\r\n") },
		"the connection ends": func(c net.Conn) { c.Close() },
		"half of it ends":     func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() },
		"a reset": func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var server api
			server.start(t)
			p := newPosterTo(t, func(ctx context.Context) (net.Conn, error) { return dialSocket(ctx, "tcp", server.addr) })
			_, err := p.post(t.Context())
			require.NoError(t, err)
			first := idleOf(t, p)
			push(server.made()[0])
			awaitArrival(t, first.raw)
			a, err := p.post(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 202, a.Status)
			assert.Len(t, server.made(), 2)
			assert.Equal(t, int64(2), server.requests.Load(), "nothing is sent on the first connection")
			assert.NotSame(t, first, idleOf(t, p), "the first connection is dropped")
		})
	}
}

func TestConnectionOnWhichNothingArrivedIsUsedAgain(t *testing.T) {
	var server api
	server.start(t)
	p := newPosterTo(t, func(ctx context.Context) (net.Conn, error) { return dialSocket(ctx, "tcp", server.addr) })
	for range 100 {
		a, err := p.post(t.Context())
		require.NoError(t, err)
		require.Equal(t, 202, a.Status)
	}
	assert.Len(t, server.made(), 1)
}

func TestAnswerBeforeTheFirstRequestIsNotTheEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		greet func(net.Conn)
		want  error
	}{
		"an answer":           {func(c net.Conn) { _, _ = io.WriteString(c, refusal) }, errUnsolicited},
		"the connection ends": {func(c net.Conn) { c.Close() }, errNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := api{onAccept: func(c net.Conn) net.Conn { tt.greet(c); return c }}
			server.start(t)
			dials := 0
			p := newPosterTo(t, func(ctx context.Context) (net.Conn, error) {
				dials++
				c, err := dialSocket(ctx, "tcp", server.addr)
				require.NoError(t, err)
				awaitArrival(t, c)
				return c, nil
			})
			a, err := p.post(t.Context())
			require.ErrorIs(t, err, tt.want)
			assert.Zero(t, a.Status)
			assert.Equal(t, 1, dials, "another new connection would do the same")
		})
	}
}

// The connection through a SOCKS proxy is one of x/net, with the socket below it.
func TestAnswerThatArrivesThroughASOCKSProxyIsNotTheNextEvents(t *testing.T) {
	server := api{onAccept: func(c net.Conn) net.Conn {
		var b [32]byte
		_, _ = io.ReadFull(c, b[:3]) // version, one method, none
		_, _ = c.Write([]byte{5, 0})
		_, _ = io.ReadFull(c, b[:10]) // version, connect, reserved, IPv4, address, port
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		return c
	}}
	server.start(t)
	via := socks{&url.URL{Scheme: "socks5", Host: server.addr}, dialSocket}
	p := newPosterTo(t, func(ctx context.Context) (net.Conn, error) { return via.dial(ctx, "tcp", "192.0.2.1:80") })
	_, err := p.post(t.Context())
	require.NoError(t, err)
	_, _ = io.WriteString(server.made()[0], refusal)
	awaitArrival(t, idleOf(t, p).raw)
	a, err := p.post(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 202, a.Status)
	assert.Len(t, server.made(), 2)
}

// corked is a connection that buffers writes until release.
type corked struct {
	net.Conn
	mu   sync.Mutex
	held bytes.Buffer
	hold bool
}

func (c *corked) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold {
		return c.held.Write(b)
	}
	return c.Conn.Write(b)
}

// cork starts buffering.
func (c *corked) cork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = true
}

// release sends the buffered data in one piece, except the last bytes.
func (c *corked) release(without int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.Conn.Write(c.held.Next(c.held.Len() - without))
	c.hold = without > 0
}

// newTLSAPI starts a server with corked TLS connections, and returns a poster to it. The
// poster's connection has several layers of TLS, as with a proxy that uses TLS.
func newTLSAPI(t *testing.T, layers int, server *api) *poster {
	t.Helper()
	made := httptest.NewTLSServer(nil)
	certificates := made.TLS.Certificates
	made.Close()
	server.onAccept = func(c net.Conn) net.Conn {
		c = &corked{Conn: c}
		for range layers {
			c = tls.Server(c, &tls.Config{Certificates: certificates})
		}
		return c
	}
	server.start(t)
	return newPosterTo(t, func(ctx context.Context) (net.Conn, error) {
		c, err := dialSocket(ctx, "tcp", server.addr)
		for range layers {
			require.NoError(t, err)
			c, err = handshake(ctx, c, &tls.Config{InsecureSkipVerify: true})
		}
		return c, err
	})
}

func corkOf(c net.Conn) *corked {
	for {
		secure, ok := c.(*tls.Conn)
		if !ok {
			return c.(*corked)
		}
		c = secure.NetConn()
	}
}

// Data that TLS has read ahead is no longer in the socket.
func TestAnswerThatTLSHasReadAheadIsNotTheNextEvents(t *testing.T) {
	for name, tt := range map[string]struct{ layers, without int }{
		"the whole of it":                      {1, 0},
		"all but its last bytes":               {1, 10},
		"all but its last bytes, and its head": {1, len(refusal) + 20},
		"the whole of it, through a proxy":     {2, 0},
		"all but its last bytes, likewise":     {2, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var server api
			server.onRequest = func(c net.Conn, n int) {
				cork := corkOf(c)
				if len(server.made()) > 1 {
					return
				}
				if n > 0 { // a defect: the rest is read as the answer
					cork.release(0)
					return
				}
				cork.cork()
				_, _ = io.WriteString(c, acceptance)
				_, _ = io.WriteString(c, refusal)
				cork.release(tt.without)
			}
			p := newTLSAPI(t, tt.layers, &server)
			for range 2 {
				a, err := p.post(t.Context())
				require.NoError(t, err)
				assert.Equal(t, 202, a.Status)
			}
			assert.Len(t, server.made(), 2)
		})
	}
}

// A server sends session tickets after the handshake. They are expected data.
func TestTLSConnectionIsUsedAgain(t *testing.T) {
	for name, layers := range map[string]int{"TLS": 1, "TLS through a proxy that speaks TLS": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var server api
			p := newTLSAPI(t, layers, &server)
			for range 100 {
				a, err := p.post(t.Context())
				require.NoError(t, err)
				require.Equal(t, 202, a.Status)
			}
			assert.Len(t, server.made(), 1)
		})
	}
}

func TestCheckForUnsolicitedDataAllocatesNothing(t *testing.T) {
	var server api
	server.start(t)
	c, err := dialSocket(t.Context(), "tcp", server.addr)
	require.NoError(t, err)
	used := newConn(c)
	defer used.close()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := used.unsolicited(); err != nil {
			t.Error(err)
		}
	}))
}
