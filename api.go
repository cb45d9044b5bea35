package footfall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// userAgent is sent with every request. No visitor's ever is.
const userAgent = "footfall-go"

// api sends single requests to the Site Analytics API and reads their answers.
type api struct {
	cleaner
	base      *url.URL
	header    func() http.Header // of all requests, the key included: see cleaner.key
	http      *http.Client
	send      func(*http.Request) (*http.Response, error)
	shared    bool // http came from the application
	eventsURL *url.URL
}

func newAPI(baseURL, key string, client *http.Client, inFlight int) *api {
	baseURL = strings.TrimRight(baseURL, "/")
	base, _ := url.Parse(baseURL) // checked by Config
	events, _ := url.Parse(baseURL + "/v1/events")
	header := http.Header{
		"Authorization": {"Bearer " + key},
		"User-Agent":    {userAgent},
		"Accept":        {"application/json"},
	}
	own := http.Client{}
	send := own.Do
	if client != nil {
		own = *client
	} else {
		own.Transport = defaultTransport(inFlight, newKeyMask(key))
		send = own.Transport.RoundTrip // an http.Client adds redirects and cookies, and a microsecond
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &api{
		send:      send,
		cleaner:   newCleaner(baseURL, key),
		base:      base,
		header:    func() http.Header { return header },
		http:      &own,
		shared:    client != nil,
		eventsURL: events,
	}
}

// close lets go of idle connections, unless they are the application's.
func (c *api) close() {
	if !c.shared {
		c.http.CloseIdleConnections()
	}
}

// defaultTransport speaks HTTP/1.1 only: in Go an event over HTTP/2 costs the
// client about twice the CPU. Idle connections are kept for the next batch, and
// there are never more than requests in flight: net/http would by itself dial another
// while one is about to become idle. mask keeps the key out of what net/http prints.
func defaultTransport(inFlight int, mask *keyMask) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            mask.dial,
		DialTLSContext:         mask.dialTLS,
		Protocols:              &protocols,
		TLSHandshakeTimeout:    5 * time.Second, // through a proxy, where mask does not do it
		MaxConnsPerHost:        inFlight,
		MaxIdleConnsPerHost:    inFlight,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// answer is what came back: a status with the beginning of the body, or an error
// of the network.
type answer struct {
	status     int
	body       []byte
	retryAfter string
	err        error         // there was no answer
	cut        error         // why body is not all of it
	key        func() string // which whoever answers may repeat
}

// How much of a response body is looked at, and how much is read so that the
// connection can be used again.
const (
	maxAnswer = 16 << 10
	maxDrain  = 256 << 10
)

// post sends one event. It copies body: net/http may still be reading it after
// the answer has come. The answer's body is in buf if that is large enough.
func (c *api) post(ctx context.Context, id uuid.UUID, body, buf []byte) answer {
	body = bytes.Clone(body)
	header := maps.Clone(c.header()) // net/http changes none of the values
	header["Idempotency-Key"] = []string{id.String()}
	header["Content-Type"] = jsonType
	req := &http.Request{
		Method:        http.MethodPost,
		URL:           c.eventsURL,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
		ContentLength: int64(len(body)),
	}
	return c.do(req.WithContext(ctx), maxAnswer, buf)
}

var jsonType = []string{"application/json"}

// get fetches path, whose elements are escaped, below the base URL.
func (c *api) get(ctx context.Context, path string, maxBody int64) answer {
	u, err := url.Parse(c.base.String() + path)
	if err != nil {
		return answer{err: err}
	}
	req := &http.Request{Method: http.MethodGet, URL: u, Header: maps.Clone(c.header())}
	return c.do(req.WithContext(ctx), maxBody, nil)
}

// do sends req and reads the answer. The application may have given
// the http.Client: a panic in it is an error here, not the end of the process.
func (c *api) do(req *http.Request, maxBody int64, buf []byte) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a = answer{err: fmt.Errorf("footfall: panic in Config.HTTPClient: %s", scrub(fmt.Sprint(v), c.key()))}
		}
	}()
	resp, err := c.send(req)
	if err != nil {
		return answer{err: c.clean(err)}
	}
	defer resp.Body.Close()
	a = answer{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), key: c.key}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return a // the body is the connection, which ends with neither context nor timeout
	}
	body := bytes.NewBuffer(buf)
	_, err = body.ReadFrom(io.LimitReader(resp.Body, maxBody))
	if a.body = body.Bytes(); err != nil {
		a.cut = c.clean(err)
		return a
	}
	if int64(len(a.body)) == maxBody { // there may be more
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain) // an error here costs only the connection
	}
	return a
}
