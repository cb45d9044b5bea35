package respwriter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bare is a writer with only the methods of http.ResponseWriter. It records calls of the parts
// that are added to it.
type bare struct {
	http.ResponseWriter
	calls []string
}

type (
	flushPart  struct{ *bare }
	hijackPart struct{ *bare }
	readPart   struct{ *bare }
	pushPart   struct{ *bare }
)

var errOfPart = errors.New("the part below says no")

func (p flushPart) Flush() { p.calls = append(p.calls, "flush") }
func (p hijackPart) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	p.calls = append(p.calls, "hijack")
	return nil, nil, errOfPart
}
func (p readPart) ReadFrom(src io.Reader) (int64, error) {
	p.calls = append(p.calls, "read")
	return io.Copy(io.Discard, src)
}
func (p pushPart) Push(target string, _ *http.PushOptions) error {
	p.calls = append(p.calls, "push "+target)
	return errOfPart
}

// Promoted methods of http.ResponseWriter would be ambiguous in a struct of several parts.
// These have only the methods that each part adds.
type (
	flusher interface{ Flush() }
	pusher  interface {
		Push(string, *http.PushOptions) error
	}
)

// Writers of every combination: F Flusher, H Hijacker, R ReaderFrom, P Pusher.
type (
	anyWriter = http.ResponseWriter

	withF struct {
		anyWriter
		flusher
	}
	withH struct {
		anyWriter
		http.Hijacker
	}
	withFH struct {
		withF
		http.Hijacker
	}
	withR struct {
		anyWriter
		io.ReaderFrom
	}
	withFR struct {
		withF
		io.ReaderFrom
	}
	withHR struct {
		withH
		io.ReaderFrom
	}
	withFHR struct {
		withFH
		io.ReaderFrom
	}
)

// having returns a writer with exactly the interfaces of the bits: 1 Flusher,
// 2 Hijacker, 4 ReaderFrom, 8 Pusher.
func having(bits int, b *bare) http.ResponseWriter {
	f, h := withF{b, flushPart{b}}, withH{b, hijackPart{b}}
	fh, r := withFH{f, hijackPart{b}}, readPart{b}
	without := []http.ResponseWriter{b, f, h, fh, withR{b, r}, withFR{f, r}, withHR{h, r}, withFHR{fh, r}}
	if bits < 8 {
		return without[bits]
	}
	p := pushPart{b}
	return []http.ResponseWriter{
		struct {
			anyWriter
			pusher
		}{b, p},
		struct {
			withF
			pusher
		}{f, p},
		struct {
			withH
			pusher
		}{h, p},
		struct {
			withFH
			pusher
		}{fh, p},
		struct {
			withR
			pusher
		}{withR{b, r}, p},
		struct {
			withFR
			pusher
		}{withFR{f, r}, p},
		struct {
			withHR
			pusher
		}{withHR{h, r}, p},
		struct {
			withFHR
			pusher
		}{withFHR{fh, r}, p},
	}[bits-8]
}

// interfaces returns the names of the interfaces that w implements.
func interfaces(w http.ResponseWriter) string {
	_, f := w.(http.Flusher)
	_, e := w.(interface{ FlushError() error })
	_, h := w.(http.Hijacker)
	_, r := w.(io.ReaderFrom)
	_, p := w.(http.Pusher)
	return fmt.Sprintf("Flusher %t, FlushError %t, Hijacker %t, ReaderFrom %t, Pusher %t", f, e, h, r, p)
}

func TestWriterHasExactlyTheInterfacesOfTheOneBelow(t *testing.T) {
	t.Parallel()
	for bits := range 16 {
		b := &bare{ResponseWriter: httptest.NewRecorder()}
		below := having(bits, b)
		f, h, r, p := bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
		name := fmt.Sprintf("Flusher %t, FlushError %t, Hijacker %t, ReaderFrom %t, Pusher %t", f, f, h, r, p)
		t.Run(name, func(t *testing.T) {
			w := Wrap(below, new(Recorder))
			assert.Equal(t, name, interfaces(w))
			callAll(t, w)
			var want []string
			for i, call := range []string{"flush", "hijack", "read", "push /style.css"} {
				if bits&(1<<i) != 0 {
					want = append(want, call)
				}
			}
			assert.Equal(t, want, b.calls, "each call reaches the writer below, once")
		})
	}
}

// callAll calls every optional method that w has.
func callAll(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	if h, ok := w.(http.Hijacker); ok {
		_, _, err := h.Hijack()
		assert.ErrorIs(t, err, errOfPart)
	}
	if r, ok := w.(io.ReaderFrom); ok {
		n, err := r.ReadFrom(http.NoBody)
		assert.NoError(t, err)
		assert.Zero(t, n)
	}
	if p, ok := w.(http.Pusher); ok {
		assert.ErrorIs(t, p.Push("/style.css", nil), errOfPart)
	}
}

func TestWriterOfARealServerKeepsItsInterfaces(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+interfaces(w))
	})
	for proto, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			bare := served(t, http2, handler)
			wrapped := served(t, http2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(Wrap(w, new(Recorder)), r)
			}))
			assert.Contains(t, bare, proto)
			assert.Equal(t, bare, wrapped)
		})
	}
}

// served returns the answer of handler in a server of net/http.
func served(t *testing.T, http2 bool, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.StartTLS()
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

// flushErrorWriter is a writer whose Flush can fail.
type flushErrorWriter struct{ *httptest.ResponseRecorder }

func (flushErrorWriter) FlushError() error { return errOfPart }

func TestResponseControllerGetsTheErrorOfFlush(t *testing.T) {
	t.Parallel()
	w := Wrap(flushErrorWriter{httptest.NewRecorder()}, new(Recorder))
	assert.ErrorIs(t, http.NewResponseController(w).Flush(), errOfPart)
}

func TestResponseControllerReportsUnsupportedMethods(t *testing.T) {
	t.Parallel()
	c := http.NewResponseController(Wrap(&bare{}, new(Recorder)))
	_, _, hijack := c.Hijack()
	for name, err := range map[string]error{
		"Flush": c.Flush(), "Hijack": hijack, "EnableFullDuplex": c.EnableFullDuplex(),
		"SetReadDeadline": c.SetReadDeadline(time.Now()), "SetWriteDeadline": c.SetWriteDeadline(time.Now()),
	} {
		assert.ErrorIs(t, err, http.ErrNotSupported, name)
	}
}

// An application may look for any interface: gin's writer has Status, for example.
func TestWriterAddsNoMethods(t *testing.T) {
	t.Parallel()
	known := []string{
		"CloseNotify", "Flush", "FlushError", "Header", "Hijack", "Push", "ReadFrom", "Unwrap", "Write", "WriteHeader", "WriteString",
	}
	for bits := range 16 {
		w := reflect.TypeOf(Wrap(having(bits, &bare{}), new(Recorder)))
		for method := range w.Methods() {
			assert.Contains(t, known, method.Name, w)
		}
	}
}

func TestStatusIsTheFinalOne(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		handle func(http.ResponseWriter)
		want   int
	}{
		"nothing":             {func(http.ResponseWriter) {}, 0},
		"a header":            {func(w http.ResponseWriter) { w.WriteHeader(404) }, 404},
		"two headers":         {func(w http.ResponseWriter) { w.WriteHeader(404); w.WriteHeader(500) }, 404},
		"early hints":         {func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(204) }, 204},
		"early hints only":    {func(w http.ResponseWriter) { w.WriteHeader(103) }, 0},
		"switching protocols": {func(w http.ResponseWriter) { w.WriteHeader(101); w.WriteHeader(500) }, 101},
		"a body":              {func(w http.ResponseWriter) { _, _ = w.Write(nil) }, 200},
		"a text":              {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "text") }, 200},
		"a flush":             {func(w http.ResponseWriter) { w.(http.Flusher).Flush() }, 200},
		"a body and a header": {func(w http.ResponseWriter) { _, _ = w.Write(nil); w.WriteHeader(500) }, 200},
	} {
		var recorder Recorder
		row.handle(Wrap(httptest.NewRecorder(), &recorder))
		assert.Equal(t, row.want, recorder.Status, name)
	}
}
