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
	"runtime"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/footfall-dev/footfall"
)

// How much of an answer is looked at, and how much more of it is read so that the
// connection can be used again. They are those of the default transport.
const (
	maxAnswer = 16 << 10
	maxDrain  = 256 << 10
	maxHeader = 64 << 10
)

// maxInterim bounds the informational answers (1xx) before the one that counts.
const maxInterim = 16

// maxKept is the largest request whose buffer is kept for the next one.
const maxKept = 64 << 10

// conn is a connection to the API. One goroutine uses it at a time; only close may be
// called meanwhile, which is how an attempt is cut off.
type conn struct {
	net.Conn
	raw    net.Conn // the same without TLS
	in     *bufio.Reader
	out    []byte
	header fasthttp.ResponseHeader
	asked  time.Time // when the last attempt on it began
	timed  time.Time // when its deadline was set
	used   bool      // it has carried an answer
	stale  bool      // it was used, and closed when the next answer was to come
	keep   bool      // it can carry another request
}

func newConn(c net.Conn) *conn {
	raw := c
	if secure, ok := c.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	return &conn{Conn: c, raw: raw, in: newReader(c)}
}

// close ends the connection without the farewell of TLS, which may have to wait.
func (c *conn) close() { c.raw.Close() }

// newReader has room for the header of ordinary answers; see widen for others.
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

// write sends the event. That it fails is not the last word: a server may answer and
// close before it has read all, and read finds either the answer or the failure.
func (c *conn) write(head []byte, r footfall.Record) {
	c.out = appendRequest(c.out[:0], head, r)
	_, _ = c.Write(c.out)
	runtime.Gosched() // by the next turn the answer may be there: no read in vain, no waiting
	if cap(c.out) > maxKept {
		c.out = nil
	}
}

// errNoAnswer is why there is no answer, when the network does not say more.
var errNoAnswer = errors.New("the connection was closed before the answer")

// read reads the answer.
func (c *conn) read(a *footfall.Answer) error {
	if err := c.readHeader(); err != nil {
		c.stale = c.used && err == io.EOF
		if err == io.EOF {
			err = errNoAnswer
		}
		return err
	}
	a.Status = c.header.StatusCode()
	if a.Status != http.StatusAccepted { // whose time has come
		a.RetryAfter = string(c.header.Peek("Retry-After"))
	}
	whole := c.readBody(a)
	c.used = true
	c.keep = whole && !c.ends() && c.in.Buffered() == 0
	return nil
}

// ends reports whether the server closes the connection after this answer. fasthttp
// knows the word in small letters only.
func (c *conn) ends() bool {
	return c.header.ConnectionClose() || bytes.EqualFold(c.header.Peek("Connection"), []byte("close"))
}

// readHeader reads the header of the answer that counts. It returns io.EOF, and that
// only, if not a byte of it came before the connection ended.
func (c *conn) readHeader() error {
	for range maxInterim {
		switch err := c.header.Read(c.in); {
		case isTooLarge(err) && c.in.Size() < maxHeader:
			c.widen()
		case err != nil:
			return err
		case !isInterim(c.header.StatusCode()):
			return nil
		}
	}
	return errors.New("nothing but informational answers (1xx)")
}

func isInterim(status int) bool {
	return status >= 100 && status < 200 && status != http.StatusSwitchingProtocols
}

func isTooLarge(err error) bool {
	if err == nil {
		return false
	}
	_, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err)
	return ok
}

// widen makes room for the largest header that is read. Few servers send one, and
// each connection has its buffer for as long as it lives.
func (c *conn) widen() {
	begun, _ := c.in.Peek(c.in.Buffered())
	c.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(begun)), c.Conn), maxHeader)
}

// readBody reads the body to the bounds, and reports whether that was all of it.
func (c *conn) readBody(a *footfall.Answer) (whole bool) {
	switch n := c.header.ContentLength(); {
	case a.Status == http.StatusSwitchingProtocols:
		return false // what follows is not HTTP
	case a.Status == http.StatusNoContent, a.Status == http.StatusNotModified:
		return true
	case n >= 0:
		return c.readSized(a, n)
	case n == chunked:
		return c.readStream(a, httputil.NewChunkedReader(c.in)) && c.header.ReadTrailer(c.in) == nil
	}
	_ = c.readStream(a, c.in)
	return false // ends with the connection
}

// chunked is what fasthttp's ContentLength says of an answer in chunks.
const chunked = -1

// readSized reads a body of n bytes. Unlike readStream it allocates nothing.
func (c *conn) readSized(a *footfall.Answer, n int) (whole bool) {
	head := min(n, maxAnswer)
	a.Body = slices.Grow(a.Body, head)[:head]
	got, err := io.ReadFull(c.in, a.Body)
	a.Body = a.Body[:got]
	if err != nil {
		a.Cut = cut(err)
		return false
	}
	if n-head > maxDrain {
		return false
	}
	_, err = c.in.Discard(n - head)
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
