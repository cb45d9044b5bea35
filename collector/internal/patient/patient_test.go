package patient

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// connection records write deadlines.
type connection struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (c *connection) SetWriteDeadline(t time.Time) error { c.deadline = t; return nil }

func TestEachWriteAndFlushExtendsTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := &connection{ResponseRecorder: httptest.NewRecorder()}
		w := New(conn, time.Minute)
		for range 3 {
			time.Sleep(50 * time.Second)
			_, err := w.Write([]byte("x"))
			assert.NoError(t, err)
			assert.Equal(t, time.Now().Add(time.Minute), conn.deadline)
			time.Sleep(50 * time.Second)
			w.Flush()
			assert.Equal(t, time.Now().Add(time.Minute), conn.deadline)
		}
		assert.True(t, conn.Flushed)
	})
}

func TestOuterWriterDeterminesTheTimeout(t *testing.T) {
	t.Parallel()
	outer := New(httptest.NewRecorder(), time.Minute)
	assert.Same(t, outer, New(outer, time.Hour))
}

func TestBegunReportsWhetherAStatusWasSent(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		do   func(*Writer)
		want bool
	}{
		"nothing":    {func(w *Writer) { w.Header().Set("A", "b") }, false},
		"a hint":     {func(w *Writer) { w.WriteHeader(http.StatusEarlyHints) }, false},
		"a status":   {func(w *Writer) { w.WriteHeader(http.StatusNotFound) }, true},
		"a write":    {func(w *Writer) { _, _ = w.Write(nil) }, true},
		"a flush":    {func(w *Writer) { w.Flush() }, true},
		"controlled": {func(w *Writer) { _ = http.NewResponseController(w).Flush() }, true},
	} {
		w := New(httptest.NewRecorder(), time.Minute)
		row.do(w)
		assert.Equal(t, row.want, w.Begun(), name)
	}
}
