package simulation

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// roundTripper connects the API to net/http without a wire.
type roundTripper struct{ *api }

var (
	errReset   = errors.New("connection reset by peer")
	errRefused = errors.New("connection refused")
)

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err == nil {
		err = r.Context().Err() // net/http then sends nothing
	}
	if err != nil {
		return nil, err
	}
	x, err := t.begin(r.Header.Get("Idempotency-Key"), string(body))
	if err != nil {
		t.fault("request", none, "%v", err)
		return nil, err
	}
	if !wait(x.after, r.Context().Done()) {
		t.end(x, givenUp)
		return nil, context.Cause(r.Context())
	}
	switch x.act {
	case refuse:
		t.end(x, broken)
		return nil, errRefused
	case reset, cutHeader:
		t.end(x, broken)
		return nil, errReset
	}
	t.end(x, answered)
	return x.response(), nil
}

func (r *reply) response() *http.Response {
	header := http.Header{}
	if r.retry > 0 {
		header.Set("Retry-After", strconv.Itoa(int(r.retry/time.Second)))
	}
	var body io.Reader = strings.NewReader(r.body)
	if r.act == cutBody {
		body = io.MultiReader(strings.NewReader(r.body[:len(r.body)/2]), broke{})
	}
	return &http.Response{StatusCode: r.status, Header: header, Body: io.NopCloser(body)}
}

// broke is the rest of a body on a broken connection.
type broke struct{}

func (broke) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// wait waits for d, forever if negative. It returns false if gone is closed first.
func wait(d time.Duration, gone <-chan struct{}) bool {
	if d < 0 {
		<-gone
		return false
	}
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-gone:
		return false
	}
}
