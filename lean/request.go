package lean

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/version"
)

// newHead returns the beginning of a request, which is the same for every event, and the
// encoded host. net/http writes it, so it is what the default transport sends: it escapes the
// address and encodes a host that is not ASCII.
func newHead(baseURL, key string) (head []byte, host string, err error) {
	req, err := http.NewRequest(http.MethodPost, strings.TrimRight(baseURL, "/")+"/v1/events", http.NoBody)
	if err != nil {
		return nil, "", err
	}
	req.Header = http.Header{
		"User-Agent":    {version.UserAgent()},
		"Authorization": {"Bearer " + key},
		"Accept":        {"application/json"},
		"Content-Type":  {"application/json"},
	}
	var text bytes.Buffer
	if err := req.Write(&text); err != nil {
		return nil, "", err
	}
	sent, err := http.ReadRequest(newReader(bytes.NewReader(text.Bytes())))
	if err != nil {
		return nil, "", err
	}
	head = bytes.Replace(text.Bytes(), []byte("Content-Length: 0\r\n"), nil, 1)
	return bytes.TrimSuffix(head, []byte("\r\n")), sent.Host, nil
}

// appendRequest appends the POST of r to b.
func appendRequest(b, head []byte, r footfall.Record) []byte {
	b = append(b, head...)
	b = append(b, "Idempotency-Key: "...)
	b = r.AppendIdempotencyKey(b)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(r.Body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, r.Body...)
}
