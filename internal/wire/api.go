// Package wire sends single requests to the Site Analytics API and classifies their answers. It
// keeps the API key out of errors and of the messages that net/http logs. It does not retry.
package wire

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

	"github.com/footfall-dev/footfall/internal/version"
)

// API sends single requests to the Site Analytics API and reads their answers.
type API struct {
	Cleaner
	base      *url.URL
	header    func() http.Header // of all requests, with the key: see Cleaner.key
	http      *http.Client
	send      func(*http.Request) (*http.Response, error)
	shared    bool // http came from the application
	eventsURL *url.URL
}

// New returns an API that sends with client, or with a default transport if client is nil,
// on at most inFlight connections.
func New(baseURL, key string, client *http.Client, inFlight int) *API {
	baseURL = strings.TrimRight(baseURL, "/")
	base, _ := url.Parse(baseURL) // checked by Config
	events, _ := url.Parse(baseURL + "/v1/events")
	header := http.Header{
		"Authorization": {"Bearer " + key},
		"User-Agent":    {version.UserAgent()}, // a visitor's user agent never is
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
	return &API{
		send:      send,
		Cleaner:   NewCleaner(baseURL, key),
		base:      base,
		header:    func() http.Header { return header },
		http:      &own,
		shared:    client != nil,
		eventsURL: events,
	}
}

// Close closes idle connections, unless they are the application's.
func (c *API) Close() {
	if !c.shared {
		c.http.CloseIdleConnections()
	}
}

// defaultTransport speaks HTTP/1.1 only, because an event over HTTP/2 costs the client about
// twice the CPU in Go. It keeps idle connections for the next batch. Without MaxConnsPerHost,
// net/http would dial another connection while one is about to become idle. mask keeps the key
// out of the messages that net/http logs.
func defaultTransport(inFlight int, mask *keyMask) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            mask.dial,
		DialTLSContext:         mask.dialTLS,
		Protocols:              &protocols,
		TLSHandshakeTimeout:    5 * time.Second, // for connections through a proxy, where mask does not add TLS
		MaxConnsPerHost:        inFlight,
		MaxIdleConnsPerHost:    inFlight,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

const (
	// MaxBody is how many bytes of a body Post returns.
	MaxBody = 16 << 10

	// maxDrain is how many more bytes are read so that the connection can be reused.
	maxDrain = 256 << 10
)

// Post sends one event. It copies body, because net/http may still read it after the answer
// has come. The answer's body is in buf if buf is large enough.
func (c *API) Post(ctx context.Context, key string, body, buf []byte) Answer {
	body = bytes.Clone(body)
	header := maps.Clone(c.header()) // net/http changes none of the values
	header["Idempotency-Key"] = []string{key}
	header["Content-Type"] = jsonType
	req := &http.Request{
		Method:        http.MethodPost,
		URL:           c.eventsURL,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
		ContentLength: int64(len(body)),
	}
	return c.do(req.WithContext(ctx), MaxBody, buf)
}

var jsonType = []string{"application/json"}

// Get fetches path, whose elements are escaped, below the base URL. It reads at most maxBody
// bytes of the body.
func (c *API) Get(ctx context.Context, path string, maxBody int64) Answer {
	u, err := url.Parse(c.base.String() + path)
	if err != nil {
		return Answer{Err: err}
	}
	req := &http.Request{Method: http.MethodGet, URL: u, Header: maps.Clone(c.header())}
	return c.do(req.WithContext(ctx), maxBody, nil)
}

// do sends req and reads the answer. A panic in the application's http.Client becomes an
// error.
func (c *API) do(req *http.Request, maxBody int64, buf []byte) (a Answer) {
	defer func() {
		if v := recover(); v != nil {
			a = Answer{Err: fmt.Errorf("footfall: panic in Config.HTTPClient: %s", c.Scrub(fmt.Sprint(v)))}
		}
	}()
	resp, err := c.send(req)
	if err != nil {
		return Answer{Err: c.Clean(err)}
	}
	defer resp.Body.Close()
	a = Answer{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"), Date: resp.Header.Get("Date"), Key: c.key}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return a // the body is the connection, which neither context nor timeout ends
	}
	body := bytes.NewBuffer(buf)
	_, err = body.ReadFrom(io.LimitReader(resp.Body, maxBody))
	if a.Body = body.Bytes(); err != nil {
		a.Cut = c.Clean(err)
		return a
	}
	if int64(len(a.Body)) == maxBody { // there may be more
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain) // an error here costs only the connection
	}
	return a
}
