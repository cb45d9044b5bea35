package collector

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/footfall-dev/footfall/collector/store"
)

// buffers hold bodies while they are decoded.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// readEvent reads and decodes the body of a request. Nothing of the draft refers to it.
func readEvent(r *http.Request, names *fields) (draft, *failure) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var f *failure
	if *buffer, f = readBody((*buffer)[:0], r); f != nil {
		return draft{}, f
	}
	return decode(*buffer, names)
}

// readBody appends the body to b, which grows with what really comes, not with what a
// header announces.
func readBody(b []byte, r *http.Request) ([]byte, *failure) {
	if r.ContentLength > store.MaxBody {
		return b, tooLarge(store.MaxBody)
	}
	for {
		if len(b) == cap(b) {
			b = slices.Grow(b, 1)
		}
		n, err := r.Body.Read(b[len(b):min(cap(b), store.MaxBody+1)])
		switch b = b[:len(b)+n]; {
		case len(b) > store.MaxBody:
			return b, tooLarge(store.MaxBody)
		case err == io.EOF:
			return b, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return b, &failure{status: http.StatusRequestTimeout, code: "request_timeout", message: "body: did not arrive in time", hangUp: true}
		case err != nil:
			f := invalid("body", "could not be read to its end")
			f.hangUp = true
			return b, f
		}
	}
}

// checkMediaType refuses bodies of other types than those listed, and JSON that is not
// UTF-8 (RFC 8259, section 8.1) or compressed.
func checkMediaType(r *http.Request, types ...string) *failure {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return unsupported("Content-Encoding: send the body as it is, not " + quoted(encoding))
	}
	sent := r.Header.Get("Content-Type")
	if slices.Contains(types, sent) {
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(sent)
	charset := params["charset"]
	if err != nil || !slices.Contains(types, mediaType) || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return unsupported("Content-Type: must be " + types[0] + ", not " + quoted(sent))
	}
	return nil
}
