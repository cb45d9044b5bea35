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

// How much of an answer is looked at, and how much more of it is read so that the
// connection can be used again. They are those of the default transport.
const (
	maxAnswer = 16 << 10
	maxDrain  = 256 << 10
	maxHeader = 64 << 10
)

// maxKept is the largest request whose buffer is kept for the next one, and that is written
// before the answer is read: so much usually fits into the buffers of the network.
const maxKept = 64 << 10

// conn is a connection to the API. One goroutine uses it at a time; only close may be
// called meanwhile, which is how an attempt is cut off.
type conn struct {
	net.Conn
	raw    net.Conn // the same without TLS
	socket *socket  // raw, nil if it is something else
	layers []*records
	in     *bufio.Reader
	out    []byte
	lines  lines
	header header

	written chan struct{} // closed when a large request has been written, else nil
	asked   time.Time     // when the last attempt on it began
	timed   time.Time     // when its deadline was set
	used    bool          // it has carried an answer
	stale   bool          // it was used, and ended or was out of step before the next answer
	keep    bool          // it can carry another request
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
	return made
}

// close ends the connection without the farewell of TLS, which may have to wait.
func (c *conn) close() { c.raw.Close() }

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 4<<10) }

// begin prepares an attempt that began at a time and may take as long as timeout. If it
// began right after the connection's last one it has that one's deadline, and up to a 64th
// less time: to set one is a thirtieth of what an event costs. It may have begun before, on
// a connection that turned out to be closed.
func (c *conn) begin(at time.Time, timeout time.Duration) {
	c.asked, c.keep = at, false
	if later := at.Sub(c.timed); later < 0 || later > timeout/64 {
		c.timed = at
		_ = c.SetDeadline(at.Add(timeout)) // fails if the connection is closed, as write will
	}
}

// write sends the event, unless the server has already sent something: that is no answer to
// this event. A failure to send is not the last word: a server may answer and close before it
// has read all, and read finds either the answer or the failure.
func (c *conn) write(head []byte, r footfall.Record) error {
	c.out = appendRequest(c.out[:0], head, r)
	if err := c.unasked(); err != nil { // last, so that as little as possible arrives after it
		c.stale = c.used
		return err
	}
	if len(c.out) > maxKept {
		c.writeAside()
		return nil
	}
	_, _ = c.Write(c.out)
	runtime.Gosched() // by the next turn the answer may be there: no read in vain, no waiting
	return nil
}

// writeAside writes a request that may not fit into the buffers of the network while the answer
// is read: a server may answer without reading the rest.
func (c *conn) writeAside() {
	out, written := c.out, make(chan struct{})
	c.out, c.written = nil, written
	go func() {
		defer close(written)
		_, _ = c.Write(out)
	}()
}

// finishWrite ends what writeAside began: the connection too, if the server has left a part of
// the request unread.
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
	errUnasked  = errors.New("the server sent something before it was asked")
	errNoAnswer = errors.New("the connection was closed before the answer")
)

// unasked returns an error if anything has arrived since the last answer, the end of the
// connection included. It does not wait, and looks into the buffers of every layer.
func (c *conn) unasked() error {
	if c.socket != nil {
		c.socket.poll = true
		defer func() { c.socket.poll = false }()
	} else if c.in.Buffered() == 0 {
		return nil
	}
	_, err := c.in.Peek(1)
	switch {
	case err == nil:
		return errUnasked
	case err == io.EOF:
		return errNoAnswer
	case !errors.Is(err, errNothingYet):
		return err
	}
	for _, layer := range c.layers {
		if !layer.isWhole() {
			return errUnasked
		}
	}
	return nil
}

// read reads the answer.
func (c *conn) read(a *footfall.Answer) error {
	if err := c.readHeader(); err != nil {
		return err
	}
	a.Status = c.header.status
	a.RetryAfter = c.header.retryAfter
	whole := c.readBody(a)
	c.used = true
	c.keep = whole && !c.header.closes
	return nil
}

// readHeader reads the header of the answer that counts. A connection that ends before a
// byte of it is stale if it was used before.
func (c *conn) readHeader() error {
	if _, err := c.in.Peek(1); err != nil {
		c.stale = c.used && !errors.Is(err, os.ErrDeadlineExceeded)
		if err == io.EOF {
			err = errNoAnswer
		}
		return err
	}
	c.lines.left = maxHeader // with all informational answers, as in net/http
	for {
		if err := c.header.read(&c.lines); err != nil || !c.header.isInterim() {
			return err
		}
	}
}

// readBody reads the body to the bounds, and reports whether that was all of it.
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

// readChunks reads a body in chunks and the fields after it, which say nothing.
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

// readSized reads a body of n bytes. Unlike readStream it allocates nothing.
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

// cut says in more than a word that a body is not all there.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
