package connlimit_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/connlimit"
)

// serve serves with a limit until the test ends, and returns the address.
func serve(t *testing.T, most int, handler http.HandlerFunc) string {
	t.Helper()
	limit := connlimit.New(most)
	server := &http.Server{
		Handler: limit.Handler(handler), ConnState: limit.ConnState, ConnContext: limit.ConnContext, ReadTimeout: time.Minute,
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(limit.Listen(inner)) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, server.Shutdown(ctx))
		assert.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return inner.Addr().String()
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// client is a connection that is kept open.
type client struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn, bufio.NewReader(conn)}
}

func (c *client) send(t *testing.T) {
	t.Helper()
	c.write(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
}

func (c *client) write(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
}

// answer reads the answer to a request.
func (c *client) answer() error {
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// open reports whether the server keeps the connection.
func (c *client) open() bool {
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, err := c.in.ReadByte()
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

func TestIdleConnectionsDoNotShutOutANewcomer(t *testing.T) {
	t.Parallel()
	const most = 1000
	addr := serve(t, most, hello)
	var all []*client
	for range 1100 {
		c := dial(t, addr)
		c.send(t)
		require.NoError(t, c.answer())
		all = append(all, c)
	}
	newcomer := dial(t, addr)
	newcomer.send(t)
	require.NoError(t, newcomer.answer())
	closed := 0
	for _, c := range all[:120] { // the server may see neighbours become idle in another order
		if !c.open() {
			closed++
		}
	}
	assert.Equal(t, 101, closed, "the oldest go first")
	for _, c := range []*client{all[120], all[500], all[1099]} {
		assert.True(t, c.open(), "the others stay")
		c.send(t)
		require.NoError(t, c.answer())
	}
}

func TestConnectionsThatSendNothingDoNotShutOutANewcomer(t *testing.T) {
	t.Parallel()
	addr := serve(t, 10, hello)
	for range 50 {
		dial(t, addr)
	}
	newcomer := dial(t, addr)
	newcomer.send(t)
	require.NoError(t, newcomer.answer())
}

// post is a request with only the first byte of its body.
const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"

// A server waits for a body that its handler does not read, too.
func TestRequestsThatDoNotArriveDoNotShutOutANewcomer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		request string
		handler http.HandlerFunc
	}{
		"a header":                {"POST / HTTP/1.1\r\nHost: x\r\nX-A: b", hello},
		"a body":                  {post, readAll},
		"a body that is not read": {post, hello},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{}, 100)
			addr := serve(t, 10, func(w http.ResponseWriter, r *http.Request) {
				begun <- struct{}{}
				row.handler(w, r)
			})
			for range 10 {
				dial(t, addr).write(t, row.request)
				if name != "a header" {
					<-begun
				}
			}
			for range 30 {
				newcomer := dial(t, addr)
				newcomer.send(t)
				require.NoError(t, newcomer.answer())
				<-begun
			}
		})
	}
}

// readAll answers when the body has arrived.
func readAll(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	hello(w, r)
}

func TestTheOldestRequestThatDoesNotArriveIsClosedFirst(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 10)
	addr := serve(t, 3, func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		readAll(w, r)
	})
	var slow []*client
	for range 3 {
		c := dial(t, addr)
		c.write(t, post)
		<-begun
		slow = append(slow, c)
	}
	newcomer := dial(t, addr)
	newcomer.send(t)
	require.NoError(t, newcomer.answer())
	assert.False(t, slow[0].open())
	for _, c := range slow[1:] {
		c.write(t, strings.Repeat(" ", 99))
		require.NoError(t, c.answer(), "the rest arrived in time")
	}
}

func TestAConnectionWithACompleteRequestIsNeverClosed(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	addr := serve(t, 3, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		<-release
		hello(w, r)
	})
	var busy []*client
	for i := range 3 {
		c := dial(t, addr)
		if i == 0 {
			c.write(t, post+strings.Repeat(" ", 99))
		} else {
			c.send(t)
		}
		<-begun
		busy = append(busy, c)
	}
	waiting := dial(t, addr)
	waiting.send(t)
	select {
	case <-begun:
		t.Fatal("the bound is exceeded")
	case <-time.After(50 * time.Millisecond):
	}
	release <- struct{}{} // one of the three is idle then, and makes room
	<-begun
	close(release)
	for _, c := range append(busy, waiting) {
		require.NoError(t, c.answer())
	}
}

// readNothing is a client that sends requests until its connection is closed, and reads no answer.
func readNothing(t *testing.T, addr, request string) {
	t.Helper()
	c := dial(t, addr)
	require.NoError(t, c.Conn.(*net.TCPConn).SetReadBuffer(4<<10))
	many := strings.Repeat(request, 100)
	go func() {
		for err := error(nil); err == nil; {
			_, err = io.WriteString(c, many)
		}
	}()
}

// endless writes an answer until the connection is closed, and returns its bytes.
func endless(w http.ResponseWriter) (written int) {
	for {
		n, err := w.Write(make([]byte, 1000))
		if written += n; err != nil {
			return written
		}
	}
}

func TestAnswersThatAreNotReadDoNotShutOutANewcomer(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"a long answer":         "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n",
		"a flushed answer":      "GET /flushed HTTP/1.1\r\nHost: x\r\n\r\n",
		"many answers":          "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"answers of the server": "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", // which it makes without the handler
		"answers to a body":     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := serve(t, 3, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/endless":
					endless(w)
				case "/flushed":
					for err := error(nil); err == nil; {
						_, _ = io.WriteString(w, "x")
						err = http.NewResponseController(w).Flush()
					}
				default:
					readAll(w, r)
				}
			})
			for range 6 {
				readNothing(t, addr, request)
			}
			for range 6 {
				newcomer := dial(t, addr)
				newcomer.send(t)
				require.NoError(t, newcomer.answer())
			}
		})
	}
}

func TestTheKernelKeepsLittleOfAnAnswerThatIsNotRead(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	addr := serve(t, 1, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			written <- endless(w)
		}
	})
	readNothing(t, addr, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
	newcomer := dial(t, addr)
	newcomer.send(t)
	require.NoError(t, newcomer.answer())
	assert.Less(t, <-written, 1<<20)
}
