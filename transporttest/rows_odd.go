package transporttest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// oddRows test answers that are unusual, malformed or hostile. All transports must treat the
// event and the connection the same way.
var oddRows = []row{
	{"unusual answers have the same effect as with net/http", oddAnswers},
}

// odd is an answer and its effect. Each case sends one event that gets the answer, and a
// second event that is accepted.
type odd struct {
	reply    reply
	rejected bool // the API refused the event
	retried  bool // the answer had no meaning, so the event was retried
	kept     bool // the connection carried the next request
	more     bool // bytes follow the answer; the transport closes the connection as soon as it sees them
}

// ok is the body of an accepting 202 with these header fields.
func ok(fields string) string {
	return "HTTP/1.1 202 Accepted\r\n" + fields + "\r\n{\"accepted\":true}"
}

// refused returns a 202 whose body refuses, so that a transport must read the body.
func refused(fields, body string) string { return "HTTP/1.1 202 Accepted\r\n" + fields + "\r\n" + body }

const no = `{"accepted":false}` // 18 bytes

// oddFields test header fields.
func oddFields() map[string]odd {
	return map[string]odd{
		"bare LF after a field":         {reply: reply{ok("X-A: 1\nContent-Length: 17\r\n"), keep}, kept: true},
		"bare LF everywhere":            {reply: reply{"HTTP/1.1 202 Accepted\nContent-Length: 18\n\n" + no, keep}, rejected: true, kept: true},
		"bare LF after the status":      {reply: reply{"HTTP/1.1 202 Accepted\nContent-Length: 18\r\n\r\n" + no, keep}, rejected: true, kept: true},
		"bare LF before the body":       {reply: reply{"HTTP/1.1 202 Accepted\r\nContent-Length: 18\r\n\n" + no, keep}, rejected: true, kept: true},
		"the same length twice":         {reply: reply{refused("Content-Length: 18\r\nContent-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"the same length thrice":        {reply: reply{refused("Content-Length: 18\r\ncontent-length:18 \r\nCONTENT-LENGTH: 18\r\n", no), keep}, rejected: true, kept: true},
		"two lengths in one field":      {reply: reply{refused("Content-Length: 18, 18\r\n", no), hang}, retried: true},
		"a length with a sign":          {reply: reply{refused("Content-Length: +18\r\n", no), hang}, retried: true},
		"a length in hexadecimal":       {reply: reply{refused("Content-Length: 0x12\r\n", no), hang}, retried: true},
		"a length that is empty":        {reply: reply{refused("Content-Length:\r\n", no), hang}, retried: true},
		"a length beyond 64 bits":       {reply: reply{refused("Content-Length: 99999999999999999999\r\n", no), hang}, retried: true},
		"a folded field":                {reply: reply{refused("X-A: 1\r\n  and 2\r\n\tand 3\r\nContent-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"a folded length":               {reply: reply{refused("Content-Length:\r\n 18\r\n", no), keep}, rejected: true, kept: true},
		"a fold before the first field": {reply: reply{refused(" X-A: 1\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"a space before the colon":      {reply: reply{refused("Content-Length : 5\r\nContent-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"a tab before the colon":        {reply: reply{refused("X-A\t: 5\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"a field without a name":        {reply: reply{refused(": 5\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"a field without a colon":       {reply: reply{refused("nonsense\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"a field without a value":       {reply: reply{refused("X-A:\r\nContent-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"NUL in a value":                {reply: reply{refused("X-A: a\x00b\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"NUL in a name":                 {reply: reply{refused("X\x00A: b\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"CR in a value":                 {reply: reply{refused("X-A: a\rb\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"bytes beyond ASCII in a value": {reply: reply{refused("X-A: \xff\xfe\r\nContent-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"bytes beyond ASCII in a name":  {reply: reply{refused("X-\xc3\xa4: 1\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"names in lower case":           {reply: reply{refused("connection: close\r\ncontent-length: 18\r\n", no), hang}, rejected: true},
		"a long line":                   {reply: reply{refused("X-A: "+strings.Repeat("a", 40<<10)+"\r\nContent-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"many fields":                   {reply: reply{refused(strings.Repeat("X-A: 1\r\n", 2000)+"Content-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"a header of 70 KiB":            {reply: reply{refused(strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 70)+"Content-Length: 18\r\n", no), hang}, retried: true},
	}
}

// oddStatuses test status lines and answers without a body.
func oddStatuses() map[string]odd {
	const sized = "\r\nContent-Length: 18\r\n\r\n" + no
	interim := strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1000)
	return map[string]odd{
		"no reason":                      {reply: reply{"HTTP/1.1 202" + sized, keep}, rejected: true, kept: true},
		"no reason but a space":          {reply: reply{"HTTP/1.1 202 " + sized, keep}, rejected: true, kept: true},
		"two spaces before the status":   {reply: reply{"HTTP/1.1  202 Accepted" + sized, keep}, rejected: true, kept: true},
		"a reason beyond ASCII":          {reply: reply{"HTTP/1.1 202 \xc3\xa4\x00" + sized, keep}, rejected: true, kept: true},
		"an empty line before":           {reply: reply{"\r\nHTTP/1.1 202 Accepted" + sized, hang}, retried: true},
		"a space before":                 {reply: reply{" HTTP/1.1 202 Accepted" + sized, hang}, retried: true},
		"HTTP/2.0":                       {reply: reply{"HTTP/2.0 202 Accepted" + sized, keep}, rejected: true, kept: true},
		"HTTP/0.9":                       {reply: reply{"HTTP/0.9 202 Accepted" + sized, hang}, rejected: true},
		"HTTP/1.10":                      {reply: reply{"HTTP/1.10 202 Accepted" + sized, hang}, retried: true},
		"http/1.1":                       {reply: reply{"http/1.1 202 Accepted" + sized, hang}, retried: true},
		"four digits":                    {reply: reply{"HTTP/1.1 0202 Accepted" + sized, hang}, retried: true},
		"status 99":                      {reply: reply{"HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n", hang}, retried: true},
		"status 999":                     {reply: reply{"HTTP/1.1 999 X" + sized, keep}, retried: true, kept: true},
		"many informational answers":     {reply: reply{interim + accepted, keep}, kept: true},
		"informational with a length":    {reply: reply{"HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" + accepted, keep}, kept: true},
		"informational in chunks":        {reply: reply{"HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n" + accepted, keep}, kept: true},
		"informational, then none":       {reply: reply{"HTTP/1.1 100 Continue\r\n\r\n", shut}, retried: true},
		"204":                            {reply: reply{"HTTP/1.1 204 No Content\r\n\r\n", keep}, retried: true, kept: true},
		"204 with a length and no body":  {reply: reply{"HTTP/1.1 204 No Content\r\nContent-Length: 18\r\n\r\n", keep}, retried: true, kept: true},
		"204 in chunks":                  {reply: reply{"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", keep}, retried: true, kept: true},
		"204 that closes":                {reply: reply{"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", hang}, retried: true},
		"205 with a length":              {reply: reply{"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", keep}, retried: true, kept: true},
		"304 with a length and no body":  {reply: reply{"HTTP/1.1 304 Not Modified\r\nContent-Length: 18\r\n\r\n", keep}, retried: true, kept: true},
		"422 without a length":           {reply: reply{"HTTP/1.1 422 No\r\n\r\n" + invalid, shut}, rejected: true},
		"422 without a length that ends": {reply: reply{"HTTP/1.1 422 No\r\n\r\n", shut}, retried: true},
		"422 and then another answer":    {reply: reply{"HTTP/1.1 422 No\r\nContent-Length: 41\r\n\r\n" + invalid + accepted, hang}, rejected: true, more: true},
	}
}

// invalid is the API's error body of a 422, of 41 bytes.
const invalid = `{"error":"bad","message":"","status":422}`

// oddBodies test where a body ends, and whether the connection can be reused.
func oddBodies() map[string]odd {
	const te = "Transfer-Encoding: chunked\r\n"
	const chunk = "12\r\n" + no + "\r\n0\r\n"
	http10 := func(fields string) string { return "HTTP/1.0 202 Accepted\r\n" + fields + "\r\n" + no }
	return map[string]odd{
		"chunks with extensions":             {reply: reply{refused(te, "12;a=b;c=\"d\"\r\n"+no+"\r\n0;last\r\n\r\n"), keep}, rejected: true, kept: true},
		"chunks with zeros and capitals":     {reply: reply{refused("TRANSFER-ENCODING: CHUNKED\r\n", "0012\r\n"+no+"\r\n000\r\n\r\n"), keep}, rejected: true, kept: true},
		"chunks and a trailer":               {reply: reply{refused(te, chunk+"X-Sum: 1\r\nX-More: 2\r\n\r\n"), keep}, rejected: true, kept: true},
		"chunks and half a trailer":          {reply: reply{refused(te, chunk+"X-Sum"), shut}, rejected: true},
		"chunks without an end":              {reply: reply{refused(te, "12\r\n"+no+"\r\n"), shut}, rejected: true},
		"chunks without the last line":       {reply: reply{refused(te, chunk), shut}, rejected: true},
		"chunks and a length":                {reply: reply{refused(te+"Content-Length: 3\r\n", chunk+"\r\n"), keep}, rejected: true, kept: true},
		"a length and chunks":                {reply: reply{refused("Content-Length: 3\r\n"+te, chunk+"\r\n"), keep}, rejected: true, kept: true},
		"chunks and a bad length":            {reply: reply{refused(te+"Content-Length: x\r\n", chunk+"\r\n"), hang}, retried: true},
		"chunks and two lengths":             {reply: reply{refused(te+"Content-Length: 1\r\nContent-Length: 2\r\n", chunk+"\r\n"), hang}, retried: true},
		"chunked twice":                      {reply: reply{refused(te+te, chunk+"\r\n"), hang}, retried: true},
		"chunked and gzip":                   {reply: reply{refused("Transfer-Encoding: gzip, chunked\r\n", chunk+"\r\n"), hang}, retried: true},
		"identity":                           {reply: reply{refused("Transfer-Encoding: identity\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"an empty coding":                    {reply: reply{refused("Transfer-Encoding:\r\nContent-Length: 18\r\n", no), hang}, retried: true},
		"a chunk of a negative size":         {reply: reply{refused(te, "-12\r\n"+no+"\r\n0\r\n\r\n"), hang}},
		"HTTP/1.0 in chunks":                 {reply: reply{http10(te + "Content-Length: 18\r\n"), hang}, rejected: true},
		"HTTP/1.0":                           {reply: reply{http10("Content-Length: 18\r\n"), hang}, rejected: true},
		"HTTP/1.0 and keep-alive":            {reply: reply{http10("Connection: Keep-Alive\r\nContent-Length: 18\r\n"), keep}, rejected: true, kept: true},
		"HTTP/1.0 and both":                  {reply: reply{http10("Connection: keep-alive, close\r\nContent-Length: 18\r\n"), hang}, rejected: true},
		"close in a list":                    {reply: reply{refused("Connection: X-A , CLOSE\r\nContent-Length: 18\r\n", no), hang}, rejected: true},
		"close before another Connection":    {reply: reply{refused("Connection: close\r\nConnection: keep-alive\r\nContent-Length: 18\r\n", no), hang}, rejected: true},
		"close after another Connection":     {reply: reply{refused("Connection: keep-alive\r\nConnection: close\r\nContent-Length: 18\r\n", no), hang}, rejected: true},
		"a word that begins with close":      {reply: reply{refused("Connection: closed\r\nContent-Length: 18\r\n", no), keep}, rejected: true, kept: true},
		"an answer and an end unannounced":   {reply: reply{refused("Content-Length: 18\r\n", no), shut}, rejected: true},
		"more than the length":               {reply: reply{refused("Content-Length: 18\r\n", no+"more"), hang}, rejected: true, more: true},
		"more than the last chunk":           {reply: reply{refused(te, chunk+"\r\nmore"), hang}, rejected: true, more: true},
		"less than the length":               {reply: reply{refused("Content-Length: 19\r\n", no), shut}, rejected: true},
		"less than the length, and it stops": {reply: reply{refused("Content-Length: 19\r\n", no), hang}, rejected: true},
		"a login page in half":               {reply: reply{"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n<html>", shut}, retried: true},
	}
}

func oddAnswers(t *testing.T, open Open) {
	for _, cases := range []map[string]odd{oddFields(), oddStatuses(), oddBodies()} {
		for name, tt := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				judged(t, open, tt)
			})
		}
	}
}

func judged(t *testing.T, open Open, tt odd) {
	t.Helper()
	w := newWire(t, tt.reply)
	r := start(t, open, config(w.url), alone, func(c *footfall.Config) { c.AttemptTimeout = 2 * time.Second })
	r.deliver(t, 1)
	requests, delivered, rejected, connections := 1, 1, 0, 1
	if tt.rejected {
		delivered, rejected = 0, 1
	}
	if tt.retried {
		requests++
	}
	if !tt.kept {
		connections++
	}
	r.counts(t, delivered, rejected)
	assert.Len(t, w.requests(), requests)
	if tt.more { // net/http takes them for an answer if the next request begins before it sees them
		w.waitUntilClosed(t)
	}
	r.deliver(t, 1)
	r.counts(t, delivered+1, rejected)
	assert.Len(t, w.requests(), requests+1)
	made, _ := w.connections()
	assert.Equal(t, connections, made, "connections")
	require.NoError(t, r.close(10*time.Second))
	w.waitUntilClosed(t)
	assert.Zero(t, w.ignored(), "nothing is sent on a connection that carries no other answer")
}
