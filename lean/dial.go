package lean

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/proxy"
)

// dialTimeout bounds connecting, and then the handshake, as in the default transport.
const dialTimeout = 5 * time.Second

// dialer connects to the API, through the proxy of the environment if there is one.
type dialer struct {
	addr   string // host and port of the API
	secure *tls.Config
	tcp    dialFunc
}

// newDialer returns a dialer for the API at baseURL. host is the API's host as sent to the
// network.
func newDialer(baseURL, host string) (*dialer, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, err
	}
	name := (&url.URL{Host: host}).Hostname()
	if !strings.HasPrefix(u.Host, "[") { // keep the zone of an IPv6 address, which host lacks
		u.Host = host
	}
	d := &dialer{addr: hostPort(u)}
	if u.Scheme == "https" {
		d.secure = &tls.Config{ServerName: name, NextProtos: []string{"http/1.1"}}
	}
	d.tcp, err = throughProxy(u, dialSocket)
	return d, err
}

// dialFunc connects to an address. It is a proxy.ContextDialer.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// DialContext implements proxy.ContextDialer.
func (d dialFunc) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

// Dial implements proxy.Dialer.
func (d dialFunc) Dial(network, addr string) (net.Conn, error) {
	return d(context.Background(), network, addr)
}

// dialSocket connects without a proxy.
func dialSocket(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return newSocket(c), nil
}

// hostPort returns the address to connect to for u.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// throughProxy returns a function that connects to u directly, or through the proxy in
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY, according to net/http.
func throughProxy(u *url.URL, direct dialFunc) (dialFunc, error) {
	via, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	switch {
	case err != nil:
		return nil, fmt.Errorf("footfall: HTTP_PROXY or HTTPS_PROXY: %w", err)
	case via == nil:
		return direct, nil
	case via.Scheme == "http" || via.Scheme == "https":
		return (&tunnel{via, direct}).dial, nil
	}
	if _, err := proxy.FromURL(via, direct); err != nil {
		return nil, fmt.Errorf("footfall: HTTP_PROXY or HTTPS_PROXY: %w", err)
	}
	return (&socks{via, direct}).dial, nil
}

// socks connects through a SOCKS proxy.
type socks struct {
	proxy  *url.URL
	direct dialFunc
}

// dial returns the connection to the proxy. The connection of x/net only wraps it, and hides
// that it is a socket.
func (s *socks) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var conn net.Conn
	remember := dialFunc(func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		conn, err = s.direct(ctx, network, addr)
		return conn, err
	})
	through, err := proxy.FromURL(s.proxy, remember)
	if err != nil {
		return nil, err
	}
	if _, err := through.(proxy.ContextDialer).DialContext(ctx, network, addr); err != nil { // all dialers of x/net implement it
		return nil, err
	}
	return conn, nil
}

// dial connects.
func (d *dialer) dial(ctx context.Context) (net.Conn, error) {
	conn, err := d.tcp(ctx, "tcp", d.addr)
	if err != nil || d.secure == nil {
		return conn, err
	}
	return handshake(ctx, conn, d.secure)
}

func handshake(ctx context.Context, conn net.Conn, cfg *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	secure := tls.Client(&records{Conn: conn}, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// tunnel connects through an HTTP proxy. It uses CONNECT for every scheme of the API.
type tunnel struct {
	proxy  *url.URL
	direct dialFunc
}

func (t *tunnel) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := t.direct(ctx, network, hostPort(t.proxy))
	if err != nil {
		return nil, err
	}
	if t.proxy.Scheme == "https" {
		if conn, err = handshake(ctx, conn, &tls.Config{ServerName: t.proxy.Hostname()}); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := t.connect(conn, addr); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// connect requests a connection to addr from the proxy.
func (t *tunnel) connect(conn net.Conn, addr string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{"User-Agent": {""}}}
	if user := t.proxy.User; user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	in := newReader(io.LimitReader(conn, maxHeader))
	resp, err := http.ReadResponse(in, req)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the proxy %s answered %d to CONNECT", t.proxy.Host, resp.StatusCode)
	case in.Buffered() > 0: // these bytes would be read as the API's
		return fmt.Errorf("the proxy %s sent more than an answer to CONNECT", t.proxy.Host)
	}
	return nil
}
