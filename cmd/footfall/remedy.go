package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// remedy says what to do about an error of NATS.
func (s *servers) remedy(err error) string {
	if text := natsTLSRemedy(err); text != "" {
		return text
	}
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthRevoked):
		return s.as + ": set -creds to a credentials file, or " + userVariable + " and " + passwordVariable + ", to those of a user that the servers know"
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired):
		return s.as + ": they have expired: issue new ones"
	case errors.Is(err, nats.ErrPermissionViolation):
		return s.as + ": give the user permission for the subjects of JetStream ($JS.API.>, $JS.ACK.>, _INBOX.>) and of the events"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return "JetStream does not answer: add jetstream { store_dir: … } to the configuration of each server and enable it for the account, and see that a majority of the servers runs"
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return "a program that uses stream.Open creates it, or a relay: start one, or correct -stream"
	case unknown:
		return "no DNS server knows the host: check the host in " + s.flag
	}
	return "check host and port in " + s.flag + ", that the servers run and listen there, and firewalls"
}

// natsTLSRemedy says what to do about an error of TLS. It returns "" for other errors.
func natsTLSRemedy(err error) string {
	var untrusted x509.UnknownAuthorityError
	var other x509.HostnameError
	var told *net.OpError
	_, invalid := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server does not offer TLS: omit -tlsca, -tlscert, -tlskey and tls://, or configure tls { … } there"
	case errors.Is(err, nats.ErrSecureConnRequired):
		return "the server requires TLS: use tls:// addresses, and -tlsca if a private authority signs its certificate"
	case errors.As(err, &untrusted):
		return "this machine does not trust the authority of the server's certificate: set -tlsca to the authority's certificate"
	case errors.As(err, &other):
		return "the certificate is for another host: use its name in -nats, or correct the certificate"
	case errors.As(err, &told) && told.Op == "remote error", errors.Is(err, nats.ErrTLS): // an alert, or closed after the handshake
		return "the server does not accept this client's certificate: set -tlscert and -tlskey to one that the server's authority has signed"
	case invalid:
		return "the server's certificate cannot be verified: renew it, or correct the clock of this machine"
	}
	return ""
}
