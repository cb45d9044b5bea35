package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"time"
)

// keyMask keeps the API key out of the messages that net/http logs. An http.Transport logs the
// data that a server sends on an idle connection, and a server may repeat the request with its
// key. So connections of this dialer replace the key in the data that they read.
//
// It does not work for an https BaseURL through a proxy, because net/http itself adds TLS to
// those connections.
type keyMask struct {
	dialer net.Dialer
	tls    tls.Config
	secret []byte
}

// longKey is the least length of a key that no answer contains by chance.
const longKey = 16

func newKeyMask(key string) *keyMask {
	if len(key) < longKey {
		key = "Bearer " + key
	}
	return &keyMask{
		dialer: net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second},
		secret: []byte(key),
	}
}

// dial connects without TLS.
func (m *keyMask) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := m.dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &maskedConn{conn, m.secret}, nil
}

// dialTLS connects with TLS. The dialer's timeout bounds connecting and handshake together.
func (m *keyMask) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	secure := tls.Dialer{NetDialer: &m.dialer, Config: &m.tls}
	conn, err := secure.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &maskedConn{conn, m.secret}, nil
}

// maskedConn is a connection that never returns the secret.
type maskedConn struct {
	net.Conn
	secret []byte
}

// Read implements net.Conn. It does not look for a secret that two calls return in parts,
// because net/http prints the bytes of one call only.
func (c *maskedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for rest := p[:n]; ; {
		i := bytes.Index(rest, c.secret)
		if i < 0 {
			return n, err
		}
		secret := rest[i : i+len(c.secret)]
		for j := range secret {
			secret[j] = '*'
		}
		rest = rest[i+len(secret):]
	}
}
