package lean

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/footfall-dev/footfall"
)

// The limits of the default transport: how much of an answer is used, and how much more is read
// so that the connection can be reused.
const (
	maxAnswer = 16 << 10
	maxDrain  = 256 << 10
)

// maxKept limits the requests whose buffer is reused, and that are written before the answer is
// read. The buffers of the network usually hold that much.
const maxKept = 64 << 10

// conn is a connection to the API. One goroutine uses it at a time. Another one may call close
// to interrupt an attempt.
type conn struct {
	net.Conn
	raw    net.Conn // without TLS
	socket *socket  // raw, or nil if it is not a socket
	layers []*records
	in     *bufio.Reader
	out    []byte
	lines  lines
	header header

	written     chan struct{} // closed when a large request has been written, else nil
	lastAttempt time.Time     // when it began
	timed       time.Time     // when the deadline was set
	used        bool          // an answer was read
	stale       bool          // it was used, and ended or had unsolicited data before the next answer
	keep        bool          // another request may follow

	interrupt func() // close
}

func newConn(c net.Conn) *conn {
	in := newReader(c)
	made := &conn{Conn: c, raw: c, in: in, lines: lines{in: in}}
	for secure, ok := c.(*tls.Conn); ok; secure, ok = made.raw.(*tls.Conn) {
		layer := secure.NetConn().(*records) // see handshake
		made.layers = append(made.layers, layer)
		made.raw = layer.Conn
	}
	made.socket, _ = made.raw.(*socket)
	made.interrupt = made.close
	return made
}

// close closes the connection without the closing alert of TLS, which could block.
func (c *conn) close() { c.raw.Close() }

// begin prepares an attempt that starts at the given time. Setting a deadline is a thirtieth of
// the cost of an event, so an attempt soon after the connection's last one keeps the old
// deadline, which is up to a 64th of timeout earlier. The attempt may have started before, on a
// connection that turned out to be closed.
func (c *conn) begin(at time.Time, timeout time.Duration) {
	c.lastAttempt, c.keep = at, false
	if later := at.Sub(c.timed); later < 0 || later > timeout/64 {
		c.timed = at
		_ = c.SetDeadline(at.Add(timeout)) // fails if the connection is closed, as write will
	}
}

// write sends the event, unless the server has already sent data, which is not the answer to
// this event. It ignores an error of the write: a server may answer and close the connection
// before it has read everything, and read then returns either the answer or the error.
func (c *conn) write(head []byte, r footfall.Record) error {
	c.out = appendRequest(c.out[:0], head, r)
	if err := c.unsolicited(); err != nil { // just before the write, so that little can arrive in between
		c.stale = c.used
		return err
	}
	if len(c.out) > maxKept {
		c.writeAside()
		return nil
	}
	_, _ = c.Write(c.out)
	runtime.Gosched() // the answer may arrive meanwhile, which saves a read
	return nil
}

// writeAside writes a request in another goroutine, because it may not fit into the buffers of
// the network. A server may answer without reading the rest.
func (c *conn) writeAside() {
	out, written := c.out, make(chan struct{})
	c.out, c.written = nil, written
	go func() {
		defer close(written)
		_, _ = c.Write(out)
	}()
}

// finishWrite waits for writeAside. It closes the connection if the server has not read the
// whole request.
func (c *conn) finishWrite() {
	if c.written == nil {
		return
	}
	select {
	case <-c.written:
	default:
		c.keep = false
		c.close()
		<-c.written
	}
	c.written = nil
}

var (
	errUnsolicited = errors.New("the server sent data before the request")
	errNoAnswer    = errors.New("the connection was closed before the answer")
)

// unsolicited returns an error if data or the end of the connection has arrived since the last
// answer. It does not block, and checks the buffers of every layer.
func (c *conn) unsolicited() error {
	if c.socket == nil {
		return nil
	}
	c.socket.poll = true
	defer func() { c.socket.poll = false }()
	_, err := c.in.Peek(1)
	switch {
	case err == nil:
		return errUnsolicited
	case err == io.EOF:
		return errNoAnswer
	case !errors.Is(err, errNothingYet):
		return err
	}
	for _, layer := range c.layers {
		if !layer.isWhole() {
			return errUnsolicited
		}
	}
	return nil
}

// read reads the answer. It keeps no connection on which more bytes than the answer have
// arrived: they would be read as the next answer.
func (c *conn) read(a *footfall.Answer) error {
	if err := c.readHeader(); err != nil {
		return err
	}
	a.Status = c.header.status
	if a.RetryAfter = c.header.retryAfter; a.RetryAfter != "" {
		a.Date = string(c.header.date)
	}
	whole := c.readBody(a)
	c.used = true
	c.keep = whole && !c.header.closes && c.in.Buffered() == 0
	return nil
}

// readHeader reads the header of the final answer. A connection that was used before and ends
// before the first byte is stale.
func (c *conn) readHeader() error {
	if _, err := c.in.Peek(1); err != nil {
		c.stale = c.used && !errors.Is(err, os.ErrDeadlineExceeded)
		if err == io.EOF {
			err = errNoAnswer
		}
		return err
	}
	c.lines.left = maxHeader // including informational answers, as in net/http
	for {
		if err := c.header.read(&c.lines); err != nil || !c.header.isInterim() {
			return err
		}
	}
}

// readBody reads the body up to the limits, and reports whether it was complete.
func (c *conn) readBody(a *footfall.Answer) (whole bool) {
	switch n := c.header.body; {
	case a.Status == http.StatusSwitchingProtocols:
		return false // what follows is not HTTP
	case n == inChunks:
		return c.readChunks(a)
	case n == untilClose:
		_ = c.readStream(a, c.in)
		return false
	default:
		return c.readSized(a, n)
	}
}

// readChunks reads a chunked body and ignores its trailer.
func (c *conn) readChunks(a *footfall.Answer) (whole bool) {
	if !c.readStream(a, httputil.NewChunkedReader(c.in)) {
		return false
	}
	c.lines.left = maxHeader
	err := c.lines.skip()
	if err != nil && len(a.Body) < maxAnswer {
		a.Cut = err
	}
	return err == nil
}

// readSized reads a body of n bytes. Unlike readStream it does not allocate.
func (c *conn) readSized(a *footfall.Answer, n int64) (whole bool) {
	head := int(min(n, maxAnswer))
	a.Body = slices.Grow(a.Body, head)[:head]
	got, err := io.ReadFull(c.in, a.Body)
	a.Body = a.Body[:got]
	if err != nil {
		a.Cut = cut(err)
		return false
	}
	rest := n - int64(head)
	if rest > maxDrain {
		return false
	}
	_, err = c.in.Discard(int(rest))
	return err == nil
}

func (c *conn) readStream(a *footfall.Answer, body io.Reader) (whole bool) {
	buf := bytes.NewBuffer(a.Body)
	_, err := buf.ReadFrom(io.LimitReader(body, maxAnswer))
	a.Body = buf.Bytes()
	if err != nil {
		a.Cut = cut(err)
		return false
	}
	_, err = io.CopyN(io.Discard, body, maxDrain)
	return err == io.EOF
}
