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

	"github.com/footfall-dev/footfall/collector/internal/event"
	"github.com/footfall-dev/footfall/collector/store"
)

// buffers are for bodies while they are decoded.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// readEvent reads and decodes the body of a request.
func readEvent(r *http.Request, names *event.Fields) (event.Draft, *failure) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var f *failure
	if *buffer, f = readBody((*buffer)[:0], r); f != nil {
		return event.Draft{}, f
	}
	d, bad := event.Decode(*buffer, names)
	if bad != nil {
		return d, invalid(bad.Field, bad.Reason)
	}
	return d, nil
}

// readBody appends the body to b. The buffer grows with the bytes that arrive, not with
// the announced length.
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
			f := invalid("body", "could not be read completely")
			f.hangUp = true
			return b, f
		}
	}
}

// checkMediaType refuses media types other than types, charsets other than UTF-8
// (RFC 8259, section 8.1), and compressed bodies.
func checkMediaType(r *http.Request, types ...string) *failure {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return unsupported("Content-Encoding: send the body uncompressed, not as " + event.Quote(encoding))
	}
	sent := r.Header.Get("Content-Type")
	if slices.Contains(types, sent) {
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(sent)
	charset := params["charset"]
	if err != nil || !slices.Contains(types, mediaType) || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return unsupported("Content-Type: must be " + types[0] + ", not " + event.Quote(sent))
	}
	return nil
}
