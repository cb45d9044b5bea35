// Package patient lets an answer take as long as it gets on.
package patient

import (
	"net/http"
	"time"
)

// Writer moves the write deadline of a connection on with each write: a stream and a
// large export may last, a client that takes nothing for so long is cut off.
type Writer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	begun   bool
}

// New returns a Writer around w. One that is around w already is returned as it is: of
// two timeouts the outer handler's counts.
func New(w http.ResponseWriter, timeout time.Duration) *Writer {
	if p, ok := w.(*Writer); ok {
		return p
	}
	return &Writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
}

// Begun reports whether a status was sent.
func (w *Writer) Begun() bool { return w.begun }

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(status int) {
	w.begun = w.begun || status >= 200 || status == http.StatusSwitchingProtocols // else more is to come
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	w.begun = true
	w.extend()
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *Writer) Flush() { _ = w.FlushError() } // the client may be gone

// FlushError is what http.ResponseController asks for.
func (w *Writer) FlushError() error {
	w.begun = true
	w.extend()
	return w.control.Flush()
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *Writer) extend() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // not all writers can
}
