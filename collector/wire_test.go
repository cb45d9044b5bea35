package collector

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw sends text on a new connection and returns the first answer and a reader of the rest.
func (s *service) raw(t *testing.T, text string) (answer, *bufio.Reader) {
	t.Helper()
	conn := s.dial(t)
	go func() { _, _ = io.WriteString(conn, text) }() // the server may stop reading
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(body)}, reader
}

// assertClosed checks that the server closed the connection after its answer.
func assertClosed(t *testing.T, rest *bufio.Reader, name string) {
	t.Helper()
	more, _ := io.ReadAll(rest) // ends with EOF, a reset, or the deadline
	assert.Empty(t, more, name)
}

// TestSomeRequestsAreAnsweredByNetHTTP checks the package documentation: net/http answers
// these requests. If that changes, update the documentation.
func TestSomeRequestsAreAnsweredByNetHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	const post = "POST /v1/events HTTP/1.1\r\nHost: x\r\n"
	for name, row := range map[string]struct {
		request string
		status  int
	}{
		"not HTTP":            {"hello\r\n\r\n", 400},
		"TLS":                 {"\x16\x03\x01\x00\x05\r\n\r\n", 400},
		"broken request line": {"GET /v1/sites\r\n\r\n", 400},
		"broken header":       {"GET /v1/sites HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400},
		"header of controls":  {"GET /v1/sites HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n", 400},
		"no Host":             {"GET /v1/sites HTTP/1.1\r\n\r\n", 400},
		"two Hosts":           {"GET /v1/sites HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
		"two lengths":         {post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400},
		"length of letters":   {post + "Content-Length: x\r\n\r\n{}", 400},
		"negative length":     {post + "Content-Length: -1\r\n\r\n{}", 400},
		"bad escape":          {"GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"other expectation":   {post + "Expect: miracles\r\nContent-Length: 2\r\n\r\n{}", 417},
		"large header":        {"GET /v1/sites HTTP/1.1\r\nHost: x\r\nX-Large: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431},
		"large request line":  {"GET /v1/" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
		"transfer coding":     {post + "Transfer-Encoding: gzip\r\n\r\n{}", 501},
		"version":             {"GET /v1/sites HTTP/3.0\r\nHost: x\r\n\r\n", 505},
	} {
		got, rest := s.raw(t, row.request)
		assert.Equal(t, row.status, got.status, name)
		assert.False(t, json.Valid([]byte(got.body)), "%s: %q", name, got.body)
		if row.status != 417 && row.status != 501 {
			assert.Contains(t, got.body, http.StatusText(row.status), name)
		}
		assertClosed(t, rest, name)
	}
	for request, status := range map[string]int{
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n": 200,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":      400, // HTTP/2 without TLS
	} {
		got, _ := s.raw(t, request)
		assert.Equal(t, status, got.status, request)
		assert.Empty(t, got.body, request)
	}
}

// TestOddRequestsAreAnsweredInTheErrorShape sends unusual requests, byte for byte, that
// net/http accepts.
func TestOddRequestsAreAnsweredInTheErrorShape(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	post := func(header, body string) string {
		return "POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.key + "\r\n" + header + "\r\n" + body
	}
	const asJSON = "Content-Type: application/json\r\n"
	get := func(line string) string {
		return line + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.key + "\r\n\r\n"
	}
	for name, row := range map[string]struct {
		request string
		status  int
		code    string
	}{
		"no body":                {post(asJSON, ""), 400, "validation_failed"},
		"broken chunk":           {post(asJSON+"Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"), 400, "validation_failed"},
		"chunk too large":        {post(asJSON+"Transfer-Encoding: chunked\r\n", "10001\r\n"+strings.Repeat(" ", 0x10001)), 413, "payload_too_large"},
		"length too large":       {post(asJSON+"Content-Length: 99999999999\r\n", ""), 413, "payload_too_large"},
		"length and expectation": {post(asJSON+"Expect: 100-continue\r\nContent-Length: 99999\r\n", ""), 413, "payload_too_large"},
		"two media types":        {post("Content-Type: text/html\r\nContent-Type: application/json\r\nContent-Length: 2\r\n", "{}"), 415, "unsupported_media_type"},
		"two keys":               {post("Authorization: Bearer x\r\n"+asJSON+"Content-Length: 2\r\n", "{}"), 401, "unauthorized"},
		"two repeats":            {post("Idempotency-Key: a\r\nIdempotency-Key: b\r\n"+asJSON+"Content-Length: 2\r\n", "{}"), 400, "validation_failed"},
		"method of nobody":       {get("BREW /v1/sites"), 405, "method_not_allowed"},
		"lower case method":      {get("get /v1/sites"), 405, "method_not_allowed"},
		"PUT of events":          {get("PUT /v1/events"), 405, "method_not_allowed"},
		"preflight":              {get("OPTIONS /v1/events"), 405, "method_not_allowed"},
		"TRACE":                  {get("TRACE /v1/sites"), 405, "method_not_allowed"},
		"dots":                   {get("GET /v1/./sites"), 404, "not_found"},
		"double slash":           {get("GET /v1//sites"), 404, "not_found"},
		"escaped slash":          {get("GET /v1/sites/a%2Fb"), 404, "not_found"},
		"NUL":                    {get("GET /v1/sites/%00"), 404, "not_found"},
		"not UTF-8":              {get("GET /v1/sites/%ff"), 404, "not_found"},
		"absolute address":       {get("GET http://x/v1/other"), 404, "not_found"},
		"HTTP/1.0":               {"GET /v1/sites HTTP/1.0\r\n\r\n", 401, "unauthorized"},
	} {
		got, _ := s.raw(t, row.request)
		assert.Equal(t, row.status, got.status, "%s: %s", name, got.body)
		var e errorBody
		assert.NoError(t, json.Unmarshal([]byte(got.body), &e), "%s: %q", name, got.body)
		assert.Equal(t, row.code, e.Error, name)
		assert.Equal(t, row.status, e.Status, name)
		assert.NotEmpty(t, e.Message, name)
		assert.Equal(t, "application/json", got.header.Get("Content-Type"), name)
	}
	assert.Empty(t, s.stored(t))

	got, rest := s.raw(t, post(asJSON+"Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"))
	assert.Contains(t, got.body, `"body: could not be read completely"`)
	assertClosed(t, rest, "where the next request begins nobody knows")
}

func TestChunkedEventsAreAccepted(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	text := s.event("x", pageURL, "{}")
	got, _ := s.raw(t, fmt.Sprintf("POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n5\r\n%s\r\n%x\r\n%s\r\n0\r\nTrailer: x\r\n\r\n", s.key, text[:5], len(text)-5, text[5:]))
	assert.Equal(t, 202, got.status, got.body)
	assert.Len(t, s.stored(t), 1)
}

// TestContinueIsSentOnlyToAcceptedClients tests Expect: 100-continue: a refused client does not
// send its body.
func TestContinueIsSentOnlyToAcceptedClients(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	text := s.event("x", pageURL, "{}")
	ask := func(key string) (*bufio.Reader, io.Writer, answer) {
		conn := s.dial(t)
		_, err := fmt.Fprintf(conn, "POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", key, len(text))
		require.NoError(t, err)
		reader := bufio.NewReader(conn)
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		return reader, conn, answer{response.StatusCode, response.Header, ""}
	}
	reader, conn, got := ask(s.key)
	require.Equal(t, http.StatusContinue, got.status)
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	assert.Equal(t, 202, response.StatusCode)
	_, _, got = ask("wrong")
	assert.Equal(t, 401, got.status, "and no 100 before")
	assert.Len(t, s.stored(t), 1)
}

// TestOtherPathsDoNotReachTheAPI tests that the API matches paths exactly.
func TestOtherPathsDoNotReachTheAPI(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	text := s.event("x", pageURL, "{}")
	for _, path := range []string{"//v1/events", "/V1/events", "/v1/events/", "/v1/events//", "/x/../v1/events", "/v1events"} {
		got, _ := s.raw(t, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			path, s.key, len(text), text))
		assert.NotEqual(t, 202, got.status, path)
	}
	assert.Empty(t, s.stored(t))
}

// TestAConnectionEndsAfterARequestWhoseLengthIsInDoubt tests RFC 9112, section 6.1. A proxy may believe the
// Content-Length that net/http ignores, and pass what follows as the request of another client.
func TestAConnectionEndsAfterARequestWhoseLengthIsInDoubt(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	text := s.event("x", pageURL, "{}")
	post := func(version, header, body string) string {
		return fmt.Sprintf("POST /v1/events HTTP/%s\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n%s", version, s.key, header, body)
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", len(text))
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(text), text)
	const chunked, next = "Transfer-Encoding: chunked\r\n", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, row := range map[string]struct {
		request string
		closed  bool
	}{
		"both":                        {post("1.1", length+chunked, chunks), true},
		"both, in the other order":    {post("1.1", chunked+length, chunks), true},
		"a wrong length":              {post("1.1", chunked+"Content-Length: 3\r\n", chunks), true},
		"a coding in HTTP/1.0":        {post("1.0", "Connection: keep-alive\r\n"+length+chunked, text), true},
		"a coding of a page":          {"GET /livez HTTP/1.1\r\nHost: x\r\n" + chunked + "Content-Length: 3\r\n\r\n0\r\n\r\n", true},
		"a coding of the dashboard":   {"GET /login HTTP/1.1\r\nHost: x\r\n" + chunked + "\r\n0\r\n\r\n", true},
		"a length":                    {post("1.1", length, text), false},
		"neither, and the connection": {"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", false},
	} {
		got, rest := s.raw(t, row.request+next)
		assert.Less(t, got.status, 300, "%s: %s", name, got.body)
		if row.closed {
			assertClosed(t, rest, name)
			continue
		}
		answer, err := http.ReadResponse(rest, nil)
		if assert.NoError(t, err, name) {
			assert.Equal(t, 200, answer.StatusCode, name)
		}
	}
}
