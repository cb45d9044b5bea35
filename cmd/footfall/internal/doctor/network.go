package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

// reach reports whether a connection to the host of base is possible, with TLS for https.
func (r *Report) reach(ctx context.Context, base *url.URL) bool {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base}); err != nil || proxy != nil {
		return r.proxied(base, proxy, err)
	}
	host := base.Hostname()
	port := cmp.Or(base.Port(), map[string]string{"https": "443", "http": "80"}[base.Scheme])
	if !r.lookUp(ctx, host) {
		return false
	}
	conn := r.connect(ctx, net.JoinHostPort(host, port))
	if conn == nil {
		return false
	}
	defer conn.Close()
	if base.Scheme != "https" {
		r.unencrypted(conn.RemoteAddr())
		return true
	}
	return r.handshake(ctx, conn, host)
}

// proxied reports a proxy, which looks up and connects in place of this program.
func (r *Report) proxied(base, proxy *url.URL, err error) bool {
	if err != nil {
		r.add("proxy", Bad, err.Error(), "correct HTTP_PROXY or HTTPS_PROXY")
		return false
	}
	r.add("proxy", Good, "requests go through "+proxy.Redacted(), "")
	if base.Scheme != "https" {
		r.unencrypted(nil)
	}
	return true
}

// unencrypted reports that requests to an address, or through a proxy if it is nil, have no TLS.
func (r *Report) unencrypted(to net.Addr) {
	if at, ok := to.(*net.TCPAddr); ok && at.IP.IsLoopback() {
		r.add("TLS", Skipped, "plain http to this machine", "")
		return
	}
	r.add("TLS", Warn, "plain http: the key and the events are sent in clear, and anyone on the way can read them",
		"use https:// in FOOTFALL_BASE_URL, unless the whole way is a private network")
}

func (r *Report) lookUp(ctx context.Context, host string) bool {
	if net.ParseIP(host) != nil {
		r.add("DNS", Skipped, host+" is an address", "")
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, shell.Timeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		remedy := "check the host in FOOTFALL_BASE_URL, and the DNS server of this machine or container"
		if problem, ok := errors.AsType[*net.DNSError](err); ok && problem.IsNotFound {
			remedy = "no DNS server knows the host: check its spelling in FOOTFALL_BASE_URL"
		}
		r.add("DNS", Bad, err.Error(), remedy)
		return false
	}
	r.add("DNS", Good, host+" is "+strings.Join(found, ", "), "")
	return true
}

func (r *Report) connect(ctx context.Context, address string) net.Conn {
	dialer := net.Dialer{Timeout: shell.Timeout}
	begin := time.Now()
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		remedy := "check the port in FOOTFALL_BASE_URL, and that the service runs and listens there"
		if timedOut, ok := errors.AsType[net.Error](err); ok && timedOut.Timeout() {
			remedy = "no answer: check firewalls and network policies between this machine and the service"
		}
		r.add("connection", Bad, err.Error(), remedy)
		return nil
	}
	r.add("connection", Good, fmt.Sprintf("%s in %s", conn.RemoteAddr(), time.Since(begin).Round(100*time.Microsecond)), "")
	return conn
}

// renewal is how long before its end a certificate should be renewed.
const renewal = 14 * 24 * time.Hour

func (r *Report) handshake(ctx context.Context, conn net.Conn, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, shell.Timeout)
	defer cancel()
	secured := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	if err := secured.HandshakeContext(ctx); err != nil {
		r.add("TLS", Bad, err.Error(), tlsRemedy(err))
		return false
	}
	state := secured.ConnectionState()
	ends := state.PeerCertificates[0].NotAfter
	found := fmt.Sprintf("%s, the certificate is valid until %s", tls.VersionName(state.Version), ends.Format("2006-01-02"))
	if time.Until(ends) < renewal {
		r.add("TLS", Warn, found, "renew the certificate of the service")
	} else {
		r.add("TLS", Good, found, "")
	}
	return true
}

func tlsRemedy(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "this machine does not trust the certificate's authority: install its root certificate (package ca-certificates, or SSL_CERT_FILE), or use a public certificate"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the certificate is for another host: use its name in FOOTFALL_BASE_URL, or correct the certificate"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the certificate has expired or is not valid yet: renew it, or correct the clock of this machine"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS on this port: check the port, or use http:// with FOOTFALL_ALLOW_HTTP=true inside a private network"
	}
	return "check the TLS configuration of the service or of the proxy before it"
}
