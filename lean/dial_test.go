package lean

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dialedByNetHTTP returns the address that net/http connects to for a URL.
func dialedByNetHTTP(t *testing.T, url string) (addr string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(_ context.Context, _, to string) (net.Conn, error) {
		addr = to
		return nil, errors.New("not in a test")
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
	require.NoError(t, err)
	_, err = transport.RoundTrip(req)
	require.Error(t, err)
	return addr
}

// The zone of an address has a meaning on this machine only (RFC 6874).
func TestAddressAndHostAreTheSameAsInNetHTTP(t *testing.T) {
	for base, want := range map[string]struct{ addr, host string }{
		"http://[fe80::1%25eth0]:8080":      {"[fe80::1%eth0]:8080", "[fe80::1]:8080"},
		"http://[fe80::1%25eth0]":           {"[fe80::1%eth0]:80", "[fe80::1]"},
		"https://[fe80::1%25en%2d1]/api":    {"[fe80::1%en-1]:443", "[fe80::1]"},
		"http://[::1]:8080":                 {"[::1]:8080", "[::1]:8080"},
		"http://127.0.0.1:8080":             {"127.0.0.1:8080", "127.0.0.1:8080"},
		"https://api.example.com":           {"api.example.com:443", "api.example.com"},
		"https://b\u00fccher.example:8443/": {"xn--bcher-kva.example:8443", "xn--bcher-kva.example:8443"},
	} {
		t.Run(base, func(t *testing.T) {
			head, host, err := newHead(base, "key")
			require.NoError(t, err)
			d, err := newDialer(base, host)
			require.NoError(t, err)
			assert.Equal(t, want.addr, d.addr)
			assert.Equal(t, dialedByNetHTTP(t, base), d.addr)
			req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(append(head, "\r\n"...))))
			require.NoError(t, err)
			assert.Equal(t, want.host, req.Host)
			if d.secure != nil {
				assert.Equal(t, (&url.URL{Host: want.host}).Hostname(), d.secure.ServerName, "certificates name no zone")
			}
		})
	}
}

// connectTo returns the client's error for a proxy that answers CONNECT with answer, which
// writes until it fails.
func connectTo(t *testing.T, answer func(net.Conn)) error {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
			answer(far)
		}
	}()
	tunnel := tunnel{proxy: &url.URL{Scheme: "http", Host: "proxy.example.com"}}
	return tunnel.connect(near, "api.example.com:443")
}

// Data after the proxy's answer would be read as the API's.
func TestProxyThatSendsMoreThanItsAnswerIsNotUsed(t *testing.T) {
	const granted = "HTTP/1.1 200 OK\r\n\r\n"
	for name, tt := range map[string]struct{ answer, want string }{
		"nothing more":           {granted, ""},
		"a byte":                 {granted + "x", "sent more than an answer"},
		"an answer of the API's": {granted + acceptance, "sent more than an answer"},
		"a body":                 {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "sent more than an answer"},
		"a refusal":              {"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "answered 403"},
	} {
		t.Run(name, func(t *testing.T) {
			err := connectTo(t, func(c net.Conn) { _, _ = c.Write([]byte(tt.answer)) })
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, "proxy.example.com")
		})
	}
}

func TestProxyWithAnEndlessHeaderIsNotReadForever(t *testing.T) {
	filler := []byte(strings.Repeat("X-Filler: x\r\n", 100))
	var sent atomic.Int64
	err := connectTo(t, func(c net.Conn) {
		_, err := c.Write([]byte("HTTP/1.1 200 OK\r\n"))
		for err == nil && sent.Load() < 10*maxHeader {
			var n int
			n, err = c.Write(filler)
			sent.Add(int64(n))
		}
	})
	require.Error(t, err)
	assert.LessOrEqual(t, sent.Load(), int64(maxHeader))
}
