package lean_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/lean"
)

// proxy is a proxy of the environment. It connects names that do not exist to existing servers.
type proxy struct {
	addr     string
	listener *net.TCPListener
	greet    func(net.Conn) (host, granted, refused string)

	mu        sync.Mutex
	hosts     map[string]string
	requested []string
}

// newProxy returns a proxy with the protocol of greet. greet returns the requested host and
// port, and the answers that grant and refuse the request.
func newProxy(greet func(net.Conn) (host, granted, refused string)) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return &proxy{addr: listener.Addr().String(), listener: listener.(*net.TCPListener), greet: greet, hosts: make(map[string]string)}
}

// start runs the proxy until the test ends. Its address stays the same.
func (p *proxy) start(t *testing.T) {
	t.Helper()
	require.NoError(t, p.listener.SetDeadline(time.Time{}))
	var serving sync.WaitGroup
	serving.Go(func() {
		for conn, err := p.listener.Accept(); err == nil; conn, err = p.listener.Accept() {
			serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = p.listener.SetDeadline(time.Now())
		serving.Wait()
	})
}

func (p *proxy) lead(host, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[host] = to
}

func (p *proxy) target(host string) (to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requested = append(p.requested, host)
	return p.hosts[host]
}

func (p *proxy) serve(conn net.Conn) {
	defer conn.Close()
	host, granted, refused := p.greet(conn)
	to := p.target(host)
	if to == "nowhere" {
		_, _ = io.Copy(io.Discard, conn) // until the client disconnects
		return
	}
	if to == "forged" {
		_, _ = io.WriteString(conn, granted+string(acceptance))
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	server, err := net.Dial("tcp", to)
	if to == "" || err != nil {
		_, _ = io.WriteString(conn, refused)
		return
	}
	defer server.Close()
	_, _ = io.WriteString(conn, granted)
	go func() {
		_, _ = io.Copy(server, conn)
		server.Close()
	}()
	_, _ = io.Copy(conn, server)
}

func tunnels(conn net.Conn) (host, granted, refused string) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil || req.Method != http.MethodConnect || req.Header.Get("Proxy-Authorization") != "Basic dXNlcjpwYXNzIHdvcmQ=" {
		return "", "", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"
	}
	return req.Host, "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 403 Forbidden\r\n\r\n"
}

// socks is RFC 1928 without authentication.
func socks(conn net.Conn) (host, granted, refused string) {
	b := make([]byte, 512)
	_, _ = io.ReadFull(conn, b[:2])
	_, _ = io.ReadFull(conn, b[:b[1]]) // methods
	_, _ = conn.Write([]byte{5, 0})
	_, _ = io.ReadFull(conn, b[:5]) // version, connect, reserved, name, length
	name := b[5 : 5+int(b[4])]
	_, _ = io.ReadFull(conn, name)
	_, _ = io.ReadFull(conn, b[:2])
	const rest = "\x00\x01\x00\x00\x00\x00\x00\x00"
	if binary.BigEndian.Uint16(b) != 443 {
		return "", "", "\x05\x01" + rest
	}
	return string(name), "\x05\x00" + rest, "\x05\x02" + rest
}

func TestProxyOfTheEnvironmentIsAskedForATunnel(t *testing.T) {
	addr := startServer(t)
	httpProxy.start(t)
	httpProxy.lead("api.example.com:80", addr)
	cfg := config("api.example.com")
	cfg.AllowHTTP = true
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, track(t, tracker))
	}
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, uint64(10), tracker.Stats().Delivered)
	assert.Contains(t, httpProxy.requested, "api.example.com:80")
}

func TestSOCKSProxyOfTheEnvironmentIsAsked(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	t.Cleanup(server.Close)
	socksProxy.start(t)
	socksProxy.lead("example.com", server.Listener.Addr().String())
	cfg := config("")
	cfg.BaseURL = "https://example.com" // for which the certificate is
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	require.NoError(t, track(t, tracker))
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, uint64(1), tracker.Stats().Delivered)
	assert.Contains(t, socksProxy.requested, "example.com")
}

func TestProxyThatRefusesIsAnOutageAndItsPasswordIsNotLogged(t *testing.T) {
	httpProxy.start(t)
	cfg := config("refused.example.com")
	cfg.AllowHTTP = true
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	require.NoError(t, track(t, tracker))
	err = tracker.Close(t.Context())
	require.ErrorContains(t, err, "answered 403 to CONNECT")
	assert.NotContains(t, err.Error(), "pass")
}

func TestProxyThatAnswersForTheAPIIsAnOutage(t *testing.T) {
	httpProxy.start(t)
	httpProxy.lead("forged.example.com:80", "forged")
	cfg := config("forged.example.com")
	cfg.AllowHTTP = true
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	require.NoError(t, track(t, tracker))
	require.ErrorContains(t, tracker.Close(t.Context()), "sent more than an answer to CONNECT")
	assert.Zero(t, tracker.Stats().Delivered)
}

func TestProxyThatHangsDoesNotHoldUpClose(t *testing.T) {
	httpProxy.start(t)
	httpProxy.lead("hung.example.com:80", "nowhere")
	cfg := config("hung.example.com")
	cfg.AllowHTTP, cfg.AttemptTimeout = true, time.Minute
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	require.NoError(t, track(t, tracker))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	var account *footfall.CloseError
	require.ErrorAs(t, tracker.Close(ctx), &account)
	assert.Less(t, time.Since(began), 2*time.Second)
	assert.Equal(t, uint64(1), account.Lost)
	assert.True(t, strings.HasPrefix(account.Error(), "footfall: close: lost 1 of 1"))
}
