package lean

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oddHeaders are the seeds of the fuzz test, which go test runs too.
var oddHeaders = []string{
	acceptance, refusal,
	"HTTP/1.1 202\n\n", "HTTP/1.1 202 \r\n\r\n", "HTTP/1.1\r\n\r\n", "\r\n\r\n", "HTTP/1.1 202 A\r\n", "HTTP/1.1 +20 A\r\n\r\n", "HTTP/1.1 -01 A\r\n\r\n",
	"HTTP/1.1 100 A\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 099 A\r\n\r\n", "HTTP/0.9 202 A\r\n\r\n", "HTTP/1.2 202 A\r\n\r\n", "HTTP/3.0 202 A\r\n\r\n", "HTTX/1.1 202 A\r\n\r\n", "HTTP/1x1 202 A\r\n\r\n",
	"HTTP/1.1 304 A\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 204 A\r\nContent-Length: 5, 5\r\n\r\n",
	"HTTP/1.0 202 A\r\nConnection: a, Keep-Alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "HTTP/1.0 202 A\r\nConnection: keep-alive\r\nConnection: CLOSE\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 202 A\r\nTransfer-Encoding: CHUNKED\r\nContent-Length: 017\r\n\r\n", "HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n \r\n\r\n", "HTTP/1.1 202 A\r\nTransfer-Encoding: chun\u212aed\r\n\r\n",
	"HTTP/1.1 202 A\r\nContent-Length: 17\r\ncontent-length:\t17 \r\n\r\n", "HTTP/1.1 202 A\r\nContent-Length: 17\r\nContent-Length: 017\r\n\r\n", "HTTP/1.1 202 A\r\nContent-Length: 1_7\r\n\r\n", "HTTP/1.1 202 A\r\nContent-Length: 9223372036854775808\r\n\r\n", "HTTP/1.1 202 A\r\nContent-Length: \r\n\r\n",
	"HTTP/1.1 202 A\r\nContent-Length:\r\n 1\r\n\t7\r\n\r\n", "HTTP/1.1 202 A\r\n X: y\r\n\r\n", "HTTP/1.1 202 A\r\nX: y\r\n z\n\t \r\nRetry-After: 1\r\n 2\r\n\r\n", "HTTP/1.1 202 A\r\nX\r\n : y\r\n\r\n",
	"HTTP/1.1 202 A\r\nX: y\r\r\n\r\n", "HTTP/1.1 202 A\r\nX : y\r\n\r\n", "HTTP/1.1 202 A\r\nX\t: y\r\n\r\n", "HTTP/1.1 202 A\r\n: y\r\n\r\n", "HTTP/1.1 202 A\r\n_X-\u00e4: y\r\n\r\n", "HTTP/1.1 202 A\r\nX: \x00\r\n\r\n", "HTTP/1.1 202 A\r\nX: \x7f\r\n\r\n", "HTTP/1.1 202 A\r\nX: \xff\r\n\r\n",
	"HTTP/1.1 503 A\r\nRetry-After: 5 \r\nRetry-After: 6\r\n\r\n", "HTTP/1.1 503 A\r\nRetry-After: \r\nRetry-After: 6\r\n\r\n", "HTTP/1.1 503 A\r\nDate: \r\ndate: Mon\r\n\r\n", "HTTP/1.1 503 A\r\nDATE:\tMon, \r\n 1 Jan\r\nDate: Tue\r\n\r\n", "HTTP/1.1 202 A\r\nConnection: a,b , close\r\n\r\n", "HTTP/1.1 202 A\r\nConnection: close\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", "HTTP/1.1 202 A\r\nConnection: clo\u017fe\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 202 A\r\nX: " + strings.Repeat("y", 9000) + "\r\n " + strings.Repeat("z", 9000) + "\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 202 " + strings.Repeat("y", 4096-15) + "\r\nContent-Length: 3\r\n\r\nabc",
}

// FuzzHeaderReadsAsNetHTTP compares the parser with http.ReadResponse, which net/http uses.
func FuzzHeaderReadsAsNetHTTP(f *testing.F) {
	for _, text := range oddHeaders {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxHeader || bytes.HasPrefix(text, []byte("HTTP/0.0")) {
			t.Skip("a bound of the transport's, and a version that net/http takes for 1.1")
		}
		theirs := bufio.NewReader(bytes.NewReader(text))
		want, wrong := http.ReadResponse(theirs, &http.Request{Method: http.MethodPost})
		if wrong != nil && strings.Contains(wrong.Error(), "bad trailer key") {
			t.Skip("trailers say nothing about an event")
		}
		ours := newReader(bytes.NewReader(text))
		var got header
		err := got.read(&lines{in: ours, left: maxHeader})
		require.Equal(t, wrong == nil, err == nil, "net/http: %v, lean: %v", wrong, err)
		if err != nil {
			return
		}
		size := want.ContentLength
		if size < 0 && len(want.TransferEncoding) == 0 {
			size = untilClose
		}
		assert.Equal(t, want.StatusCode, got.status)
		assert.Equal(t, size, got.body)
		assert.Equal(t, want.Close || want.StatusCode < 200, got.closes)
		assert.Equal(t, strings.TrimSpace(want.Header.Get("Retry-After")), strings.TrimSpace(got.retryAfter))
		assert.Equal(t, strings.TrimSpace(want.Header.Get("Date")), strings.TrimSpace(string(got.date)))
		left, _ := io.ReadAll(theirs)
		rest, _ := io.ReadAll(ours)
		assert.Equal(t, left, rest, "what follows the header")
	})
}

// endless repeats a text and counts the bytes read.
type endless struct {
	text string
	read int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.read > 10*maxHeader {
		return 0, errors.New("read for ever")
	}
	n := 0
	for n < len(b) {
		n += copy(b[n:], e.text[(e.read+n)%len(e.text):])
	}
	e.read += n
	return n, nil
}

func TestEndlessHeaderIsReadUpToALimit(t *testing.T) {
	for name, text := range map[string]string{"a line": "x", "fields": "X-A: 1\r\n", "a folded field": " 1\r\n"} {
		t.Run(name, func(t *testing.T) {
			source := &endless{text: text}
			in := newReader(io.MultiReader(strings.NewReader("HTTP/1.1 202 Accepted\r\nX-A: "), source))
			var h header
			assert.ErrorIs(t, h.read(&lines{in: in, left: maxHeader}), errLongHeader)
			assert.LessOrEqual(t, source.read, maxHeader+in.Size())
		})
	}
}
