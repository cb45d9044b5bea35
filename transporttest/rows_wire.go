package transporttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// wireRows test answers byte by byte, both well-formed and malformed.
var wireRows = []row{
	{"answers in every framing are read and cost no connection", everyFraming},
	{"answers in every framing have the same effect", everyFramingIsJudged},
	{"informational answers are not the answer", informationalAnswers},
	{"an answer that is not HTTP is retried", garbageIsTriedAgain},
	{"a truncated answer is judged by its beginning", answersCutShort},
	{"long answers do not cost connections", longAnswers},
	{"an answer beyond the bound is judged by its beginning", answersBeyondTheBound},
	{"an endless answer is read up to a limit", endlessAnswer},
	{"a long header is read, an endless one is not", longHeaders},
}

// chunks encodes a body in chunks, each twice as long as the one before.
func chunks(body string) string {
	var text strings.Builder
	for size := 5; len(body) > 0; size *= 2 {
		n := min(size, len(body))
		fmt.Fprintf(&text, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return text.String() + "0\r\n"
}

// framings write a status line and a body.
var framings = map[string]func(status, body string) string{
	"a length": func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	},
	"chunks": func(status, body string) string {
		return "HTTP/1.1 " + status + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(body) + "\r\n"
	},
	"chunks and a trailer": func(status, body string) string {
		return "HTTP/1.1 " + status + "\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + chunks(body) + "X-Sum: 1\r\n\r\n"
	},
	"a lower-case header": func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\ncontent-length:%d\r\n\r\n%s", status, len(body), body)
	},
	"no reason": func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status[:3], len(body), body)
	},
}

func everyFraming(t *testing.T, open Open) {
	for name, framing := range framings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			r := start(t, open, config(w.url), alone, patient)
			for range 10 {
				w.script(reply{framing("202 Accepted", `{"accepted":true}`), keep})
				r.deliver(t, 1)
			}
			r.counts(t, 10, 0)
			made, _ := w.connections()
			assert.Equal(t, 1, made)
		})
	}
}

func everyFramingIsJudged(t *testing.T, open Open) {
	const missing = `{"error":"not_found","message":"no such site","status":404}`
	for name, framing := range framings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, reply{framing("202 Accepted", `{"accepted":false}`), keep}, reply{framing("404 Not Found", missing), keep},
				reply{framing("204 No Content", "")[:len("HTTP/1.1 204 No Content\r\n")] + "\r\n", keep})
			if name == "no reason" {
				w.next[2].text = "HTTP/1.1 204\r\n\r\n"
			}
			r := start(t, open, config(w.url), alone)
			r.deliver(t, 1)
			r.deliver(t, 1)
			r.counts(t, 0, 2)
			var apiErr *footfall.APIError
			require.ErrorAs(t, r.rejections()[1], &apiErr)
			assert.Equal(t, footfall.APIError{Code: "not_found", Message: "no such site", Status: 404}, *apiErr)
			r.deliver(t, 1)
			r.counts(t, 1, 2)
			assert.Len(t, w.requests(), 4, "204 is not the API's")
			made, _ := w.connections()
			assert.Equal(t, 1, made)
		})
	}
}

func informationalAnswers(t *testing.T, open Open) {
	const hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
	for name, text := range map[string]string{"100": "HTTP/1.1 100 Continue\r\n\r\n", "102": "HTTP/1.1 102 Processing\r\n\r\n", "103, thrice": hints + hints + hints} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, reply{text + accepted, keep})
			r := start(t, open, config(w.url), alone, patient)
			r.deliver(t, 1)
			r.deliver(t, 1)
			r.counts(t, 2, 0)
			made, _ := w.connections()
			assert.Equal(t, []int{2, 1}, []int{len(w.requests()), made})
		})
	}
	t.Run("for ever", func(t *testing.T) {
		t.Parallel()
		triedAgain(t, open, reply{hints, flood})
	})
	t.Run("another protocol", func(t *testing.T) {
		t.Parallel()
		triedAgain(t, open, reply{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", hang})
	})
}

// triedAgain checks that a transport retries an event once, with the same id, on another
// connection.
func triedAgain(t *testing.T, open Open, first reply) *rig {
	t.Helper()
	w := newWire(t, first)
	r := start(t, open, config(w.url), alone, func(c *footfall.Config) { c.AttemptTimeout = 500 * time.Millisecond })
	r.deliver(t, 1)
	r.counts(t, 1, 0)
	got := w.requests()
	require.Len(t, got, 2)
	assert.Equal(t, got[0], got[1])
	made, _ := w.connections()
	assert.Equal(t, 2, made)
	return r
}

func garbageIsTriedAgain(t *testing.T, open Open) {
	for name, first := range map[string]reply{
		"another protocol":      {"SSH-2.0-OpenSSH_9.9\r\n", hang},
		"mail":                  {"220 mail.example.com ESMTP ready\r\n", hang},
		"bytes":                 {"\x00\x01\x02\xff\xfe\r\n\r\n", shut},
		"HTML":                  {login + "\n\n", shut},
		"no number":             {"HTTP/1.1 2x2 Accepted\r\n\r\n", hang},
		"a number too long":     {"HTTP/1.1 2020 Accepted\r\n\r\n", hang},
		"half a line":           {"HTTP/1.1 20", shut},
		"half a header":         {"HTTP/1.1 202 Accepted\r\nContent-Le", shut},
		"two lengths":           {"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nContent-Length: 17\r\n\r\n{\"accepted\":true}", hang},
		"a header that stops":   {"HTTP/1.1 202 Accepted\r\nContent-Le", hang},
		"a negative length":     {"HTTP/1.1 202 Accepted\r\nContent-Length: -1\r\n\r\n", hang},
		"an unsolicited coding": {"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: gzip\r\n\r\n", hang},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			triedAgain(t, open, first)
		})
	}
}

func answersCutShort(t *testing.T, open Open) {
	for name, tt := range map[string]struct {
		first    reply
		requests int
	}{
		"202":                     {reply{"HTTP/1.1 202 Accepted\r\nContent-Length: 17\r\n\r\n{\"acc", shut}, 1},
		"202 in chunks":           {reply{"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"acc\r\n", shut}, 1},
		"202 that stops":          {reply{"HTTP/1.1 202 Accepted\r\nContent-Length: 17\r\n\r\n{\"acc", hang}, 1},
		"404":                     {reply{"HTTP/1.1 404 Not Found\r\nContent-Length: 60\r\n\r\n{\"error", shut}, 2},
		"404 in chunks":           {reply{"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"err\r\n", shut}, 2},
		"404 with a broken chunk": {reply{"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{\"err\r\n", shut}, 2},
		"404 in chunks, no end":   {reply{"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"err\r\n0\r\n", shut}, 2},
		"404 that stops":          {reply{"HTTP/1.1 404 Not Found\r\nContent-Length: 60\r\n\r\n{\"error", hang}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, tt.first)
			r := start(t, open, config(w.url), alone, func(c *footfall.Config) { c.AttemptTimeout = 300 * time.Millisecond })
			r.deliver(t, 1)
			r.counts(t, 1, 0)
			assert.Len(t, w.requests(), tt.requests)
			assert.NotContains(t, r.String(), "BaseURL", "it may have been the API")
			r.deliver(t, 1)
			r.counts(t, 2, 0)
		})
	}
}

// Long bodies must not cost a connection per event if they are not read.
func longAnswers(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Body(202, "text/plain", strings.Repeat("x", 100<<10)))
	r := start(t, open, api.Config(), alone)
	r.deliver(t, 50)
	r.counts(t, 50, 0)
	assert.Equal(t, 1, api.Connections())
}

func answersBeyondTheBound(t *testing.T, open Open) {
	long := strings.Repeat(" ", 400<<10)
	for name, framing := range framings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, reply{framing("400 Bad Request", `{"error":"bad","message":"first words","status":400}`+long), keep}, reply{framing("202 Accepted", long+`{"accepted":false}`), keep})
			r := start(t, open, config(w.url), alone, patient)
			r.deliver(t, 1)
			r.deliver(t, 1)
			r.counts(t, 1, 1)
			assert.Contains(t, r.rejections()[0].Error(), "first words")
		})
	}
}

// An endless answer costs its connection, but not the tracker.
func endlessAnswer(t *testing.T, open Open) {
	for name, begin := range map[string]string{
		"in chunks":      "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n",
		"without length": "HTTP/1.1 202 Accepted\r\n\r\n",
		"of a length":    "HTTP/1.1 202 Accepted\r\nContent-Length: 9000000000000000000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			r := start(t, open, config(w.url), alone, patient, func(c *footfall.Config) { c.AttemptTimeout = 20 * time.Second })
			for range 3 {
				w.script(reply{begin + "10000\r\n" + strings.Repeat("x", 64<<10) + "\r\n", flood})
				began := time.Now()
				r.deliver(t, 1)
				assert.Less(t, time.Since(began), 10*time.Second, "the bound, not the time, ended it")
			}
			r.counts(t, 3, 0)
		})
	}
}

func longHeaders(t *testing.T, open Open) {
	header := func(n int) string {
		return strings.Replace(accepted, "\r\n", "\r\n"+strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", n), 1)
	}
	t.Run("32 KiB", func(t *testing.T) {
		t.Parallel()
		w := newWire(t, reply{accepted, keep}, reply{header(32), keep}, reply{header(8), keep})
		r := start(t, open, config(w.url), alone, patient)
		r.deliver(t, 4)
		r.counts(t, 4, 0)
		made, _ := w.connections()
		assert.Equal(t, 1, made)
	})
	t.Run("endless", func(t *testing.T) {
		t.Parallel()
		triedAgain(t, open, reply{header(1)[:1020], flood})
	})
}
