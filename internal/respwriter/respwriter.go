// Package respwriter notes the status of an HTTP answer.
//
// The writer it makes has exactly the optional interfaces of the writer below it, such as
// http.Flusher and io.ReaderFrom, in every combination. A type assertion of the application has
// the same result as without the middleware.
package respwriter

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Recorder notes the status of an answer and changes nothing else. Its methods are methods of
// the writer that the application gets, so it has no exported ones except those that every
// writer of net/http has.
type Recorder struct {
	http.ResponseWriter

	// Status is 0 until the header is written, and 101 for a connection that the handler
	// took over.
	Status int
}

// WriteHeader implements http.ResponseWriter. It does not note informational statuses, which
// precede the status of the answer, except 101, which nothing follows.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(b []byte) (int, error) {
	r.began()
	return r.ResponseWriter.Write(b)
}

// WriteString implements io.StringWriter, as every writer of net/http does.
func (r *Recorder) WriteString(s string) (int, error) {
	r.began()
	return io.WriteString(r.ResponseWriter, s)
}

// Unwrap returns the writer below, for http.ResponseController.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// began notes the status of a body written without WriteHeader.
func (r *Recorder) began() {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
}

// flushError is the FlushError method that http.ResponseController prefers to Flush.
func (r *Recorder) flushError() error {
	r.began()
	if f, ok := r.ResponseWriter.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	r.ResponseWriter.(http.Flusher).Flush()
	return nil
}

func (r *Recorder) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := r.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil && r.Status == 0 {
		r.Status = http.StatusSwitchingProtocols // the handler writes the status to conn
	}
	return conn, rw, err
}

func (r *Recorder) readFrom(src io.Reader) (int64, error) {
	r.began()
	return r.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
}

// closeNotifier is http.CloseNotifier, which is deprecated. An application that asserts it
// without a check, as gin's Context.Stream does, would panic without it.
type closeNotifier interface{ CloseNotify() <-chan bool }

func (r *Recorder) closeNotify() <-chan bool {
	return r.ResponseWriter.(closeNotifier).CloseNotify()
}

func (r *Recorder) push(target string, o *http.PushOptions) error {
	return r.ResponseWriter.(http.Pusher).Push(target, o)
}

// The types below add the optional interfaces to a Recorder, in every combination: F is
// http.Flusher, H http.Hijacker, R io.ReaderFrom, P http.Pusher and N http.CloseNotifier.
// Each holds one pointer, so it costs no allocation.
type (
	writerF   struct{ *Recorder }
	writerH   struct{ *Recorder }
	writerFH  struct{ writerF }
	writerR   struct{ *Recorder }
	writerFR  struct{ writerF }
	writerHR  struct{ writerH }
	writerFHR struct{ writerFH }

	writerP    struct{ *Recorder }
	writerFP   struct{ writerF }
	writerHP   struct{ writerH }
	writerFHP  struct{ writerFH }
	writerRP   struct{ writerR }
	writerFRP  struct{ writerFR }
	writerHRP  struct{ writerHR }
	writerFHRP struct{ writerFHR }

	// The writers of net/http, over HTTP/1 and HTTP/2.
	writerFHRN struct{ writerFHR }
	writerFPN  struct{ writerFP }
)

func (w writerFHRN) CloseNotify() <-chan bool { return w.closeNotify() }
func (w writerFPN) CloseNotify() <-chan bool  { return w.closeNotify() }

func (w writerF) Flush()            { _ = w.flushError() } // Flush cannot return the error
func (w writerF) FlushError() error { return w.flushError() }

func (w writerH) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w writerFH) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

func (w writerR) ReadFrom(src io.Reader) (int64, error)   { return w.readFrom(src) }
func (w writerFR) ReadFrom(src io.Reader) (int64, error)  { return w.readFrom(src) }
func (w writerHR) ReadFrom(src io.Reader) (int64, error)  { return w.readFrom(src) }
func (w writerFHR) ReadFrom(src io.Reader) (int64, error) { return w.readFrom(src) }

func (w writerP) Push(target string, o *http.PushOptions) error    { return w.push(target, o) }
func (w writerFP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w writerHP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w writerFHP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w writerRP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w writerFRP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w writerHRP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w writerFHRP) Push(target string, o *http.PushOptions) error { return w.push(target, o) }

// Bits of the optional interfaces.
const (
	canFlush = 1 << iota
	canHijack
	canReadFrom
	canPush
)

// abilities returns the bits of the optional interfaces that w has.
func abilities(w http.ResponseWriter) (bits int) {
	if _, ok := w.(http.Flusher); ok {
		bits |= canFlush
	}
	if _, ok := w.(http.Hijacker); ok {
		bits |= canHijack
	}
	if _, ok := w.(io.ReaderFrom); ok {
		bits |= canReadFrom
	}
	if _, ok := w.(http.Pusher); ok {
		bits |= canPush
	}
	return bits
}

// Wrap makes r record what is written to w. It returns the writer to hand to the application,
// which has exactly the optional interfaces of w.
func Wrap(w http.ResponseWriter, r *Recorder) http.ResponseWriter {
	r.ResponseWriter = w
	f, h := writerF{r}, writerH{r}
	fh, rd, fr, hr := writerFH{f}, writerR{r}, writerFR{f}, writerHR{h}
	fhr := writerFHR{fh}
	_, notifies := r.ResponseWriter.(closeNotifier)
	can := abilities(r.ResponseWriter)
	switch {
	case notifies && can == canFlush|canHijack|canReadFrom:
		return writerFHRN{fhr}
	case notifies && can == canPush|canFlush:
		return writerFPN{writerFP{f}}
	}
	switch can {
	case canFlush:
		return f
	case canHijack:
		return h
	case canFlush | canHijack:
		return fh
	case canReadFrom:
		return rd
	case canFlush | canReadFrom:
		return fr
	case canHijack | canReadFrom:
		return hr
	case canFlush | canHijack | canReadFrom:
		return fhr
	case canPush:
		return writerP{r}
	case canPush | canFlush:
		return writerFP{f}
	case canPush | canHijack:
		return writerHP{h}
	case canPush | canFlush | canHijack:
		return writerFHP{fh}
	case canPush | canReadFrom:
		return writerRP{rd}
	case canPush | canFlush | canReadFrom:
		return writerFRP{fr}
	case canPush | canHijack | canReadFrom:
		return writerHRP{hr}
	case canPush | canFlush | canHijack | canReadFrom:
		return writerFHRP{fhr}
	}
	return r
}
