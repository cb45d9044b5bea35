package wire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// talkative is a server that accepts one event and then, when idle is closed, sends an
// unsolicited answer that repeats the request's Authorization header. If idle is nil, it sends
// both at once.
type talkative struct {
	net.Listener
	idle chan struct{}
	text string // of the header that is repeated, with %s for its value
}

func (s *talkative) serve() error {
	conn, err := s.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, r.Body)
	asked := "HTTP/1.1 202 Accepted\r\nContent-Length: 17\r\n\r\n" + `{"accepted":true}`
	unasked := "HTTP/1.1 400 Bad Request\r\nX-Sent: " + fmt.Sprintf(s.text, r.Header.Get("Authorization")) + "\r\nContent-Length: 0\r\n\r\n"
	if s.idle == nil {
		_, err = io.WriteString(conn, asked+unasked)
	} else {
		_, _ = io.WriteString(conn, asked)
		<-s.idle
		_, err = io.WriteString(conn, unasked)
	}
	_, _ = io.Copy(io.Discard, conn) // until the client closes
	return err
}

// lineWriter receives the lines of a log.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// Not parallel: it reads the output of the standard logger, which the whole process shares.
func TestNetHTTPDoesNotPrintTheKeyOfUnsolicitedData(t *testing.T) {
	for _, tc := range []struct {
		name, key, text string
		tls, proxy      bool
		together        bool // answer and unsolicited data are sent in one piece
	}{
		{name: "http, idle", key: "sk_secret_0123456789", text: "%s"},
		{name: "https, idle", key: "sk_secret_0123456789", text: "%s", tls: true},
		{name: "http, with the answer", key: "sk_secret_0123456789", text: "%s", together: true},
		{name: "https, with the answer", key: "sk_secret_0123456789", text: "%s", tls: true, together: true},
		{name: "http through a proxy", key: "sk_secret_0123456789", text: "%s", proxy: true},
		{name: "repeated more than once", key: "sk_secret_0123456789", text: "%[1]s%[1]s,%[1]s"},
		{name: "a short key", key: "s3cret", text: "%s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			printed := make(lineWriter, 10)
			before := log.Writer()
			log.SetOutput(printed)
			defer log.SetOutput(before)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			var roots *x509.CertPool
			if tc.tls {
				listener, roots = secured(t, listener)
			}
			server := &talkative{Listener: listener, text: tc.text}
			if !tc.together {
				server.idle = make(chan struct{})
			}
			served := make(chan error, 1)
			go func() { served <- server.serve() }()

			a := server.client(tc.key, roots, tc.proxy)
			answer := a.Post(t.Context(), uuid.NewString(), []byte(`{}`), nil)
			require.NoError(t, answer.Err)
			require.Equal(t, http.StatusAccepted, answer.Status)
			if server.idle != nil {
				close(server.idle)
			}
			select {
			case line := <-printed:
				assert.Contains(t, line, "Unsolicited response", "what this test is about")
				assert.NotContains(t, line, tc.key)
				assert.Contains(t, line, "***")
			case <-time.After(20 * time.Second):
				t.Error("net/http printed nothing")
			}
			a.Close()
			require.NoError(t, <-served)
		})
	}
}

// client returns the API's client for s, with the default transport.
func (s *talkative) client(key string, roots *x509.CertPool, proxy bool) *API {
	base := "http://" + s.Addr().String()
	mask := newKeyMask(key)
	transport := defaultTransport(1, mask)
	switch {
	case roots != nil:
		base = "https://" + s.Addr().String()
		mask.tls.RootCAs = roots
	case proxy:
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: s.Addr().String()})
		base = "http://api.example.com"
	}
	a := New(base, key, nil, 1)
	a.http.Transport, a.send = transport, transport.RoundTrip
	return a
}

// secured returns l with TLS, and the certificates that a client must trust.
func secured(t *testing.T, l net.Listener) (net.Listener, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return tls.NewListener(l, &tls.Config{Certificates: server.TLS.Certificates}), roots
}

// fixed is a connection that returns a fixed text in pieces.
type fixed struct {
	net.Conn
	pieces []string
}

func (f *fixed) Read(p []byte) (int, error) {
	if len(f.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.pieces[0])
	f.pieces = f.pieces[1:]
	if len(f.pieces) == 0 {
		return n, errors.New("broken")
	}
	return n, nil
}

func TestMaskedConnectionReplacesTheKeyAndNothingElse(t *testing.T) {
	t.Parallel()
	const long, short = "sk_secret_0123456789", "accepted"
	for name, row := range map[string]struct{ key, sent, want string }{
		"no key":                  {long, `{"accepted":true}`, `{"accepted":true}`},
		"the key":                 {long, long, strings.Repeat("*", len(long))},
		"within":                  {long, "<" + long + ">", "<" + strings.Repeat("*", len(long)) + ">"},
		"twice":                   {long, long + long, strings.Repeat("*", 2*len(long))},
		"a part of it":            {long, long[1:], long[1:]},
		"a short key is a word":   {short, `{"accepted":true}`, `{"accepted":true}`},
		"a short key of a header": {short, "Bearer accepted.", strings.Repeat("*", len("Bearer accepted")) + "."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &maskedConn{&fixed{pieces: []string{row.sent, row.sent}}, newKeyMask(row.key).secret}
			p := make([]byte, 100)
			n, err := conn.Read(p)
			require.NoError(t, err)
			assert.Equal(t, row.want, string(p[:n]))
			n, err = conn.Read(p)
			require.EqualError(t, err, "broken")
			assert.Equal(t, row.want, string(p[:n]), "what comes with an error")
			assert.Zero(t, bytes.Count(p[n:], []byte("*")))
		})
	}
}
