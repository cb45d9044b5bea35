// Package patient extends the write deadline of an answer while the client reads it.
package patient

import (
	"net/http"
	"time"
)

// Writer extends the connection's write deadline with each write. Streams and large exports
// may last, while a client that stops reading is disconnected.
type Writer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	begun   bool
}

// New returns a Writer around w. A Writer is returned unchanged, so the outer handler's
// timeout applies.
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
	w.begun = w.begun || status >= 200 || status == http.StatusSwitchingProtocols // other 1xx statuses precede the final one
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	w.begun = true
	w.extend()
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *Writer) Flush() { _ = w.FlushError() } // fails if the client is gone

// FlushError implements the interface that http.ResponseController looks for.
func (w *Writer) FlushError() error {
	w.begun = true
	w.extend()
	return w.control.Flush()
}

// Unwrap implements the interface that http.ResponseController looks for.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *Writer) extend() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // not all writers support it
}
