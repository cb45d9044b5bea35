package natsconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// remedy says what to do about an error of NATS.
func (s *Servers) remedy(err error) string {
	if text := tlsRemedy(err); text != "" {
		return text
	}
	lookup, unresolved := errors.AsType[*net.DNSError](err)
	_, network := errors.AsType[*net.OpError](err)
	api, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthRevoked):
		return s.as + ": set -creds to a credentials file, or " + UserVariable + " and " + PasswordVariable + ", to those of a user that the servers know"
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired):
		return s.as + ": they have expired: issue new ones"
	case errors.Is(err, nats.ErrPermissionViolation):
		return s.permission(err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return "JetStream does not answer: add jetstream { store_dir: … } to the configuration of each server and enable it for the account, and see that a majority of the servers runs"
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return "a relay or a program that uses stream.Open creates it: start one, or correct -stream"
	case api != nil:
		return apiRemedy(api.ErrorCode)
	case !network && errors.Is(err, context.DeadlineExceeded):
		return "NATS is connected and does not answer: see that a majority of the servers runs, and, if the replicas of the stream were being changed, the server that was its leader; look at their log"
	case unresolved && lookup.IsNotFound:
		return "no DNS server knows the host: check the host in " + s.flag
	case unresolved:
		return "check the DNS server of this machine or container, and the host in " + s.flag
	}
	return "check host and port in " + s.flag + ", that the servers run and listen there, and firewalls"
}

// violation is what NATS says about a permission that is missing.
var violation = regexp.MustCompile(`(Publish|Subscription) to "([^"]+)"`)

// permission says which permission is missing, as it is written in the configuration of the servers.
func (s *Servers) permission(err error) string {
	verb, subject := "publish", "the subject"
	if found := violation.FindStringSubmatch(err.Error()); found != nil {
		subject = found[2]
		if found[1] == "Subscription" {
			verb = "subscribe"
		}
	}
	for _, prefix := range []string{"$JS.ACK.", "_INBOX."} { // the rest is of one event or request
		if strings.HasPrefix(subject, prefix) {
			subject = prefix + ">"
		}
	}
	text := fmt.Sprintf("%s: give the user permission to %s to %s", s.as, verb, subject)
	if s.operates {
		text += ", or use the user of an operator"
	}
	return text
}

// apiRemedy says what to do about an answer of JetStream.
func apiRemedy(code jetstream.ErrorCode) string {
	switch code {
	case 10047, 10023: // storage
		return "the servers reserve -max-bytes and -rejected-max-bytes: give a smaller -max-bytes, or raise max_file_store in jetstream { … } or the limits of the account"
	case 10065: // subjects overlap
		return "another stream has the subject or a part of it: use another -subject, or remove that stream"
	case 10052: // a setting
		return "NATS does not accept a setting of the stream: correct the flag that it is about, or a limit of the servers"
	case 10074: // replicas without a cluster
		return "the server is not part of a cluster: give -replicas 1, or run a cluster of three servers"
	case 10005: // peers
		return "the cluster has too few servers with room: give -replicas 1, or start more servers"
	case 10099, 10100: // consumers of a work queue
		return "another consumer takes the events: remove it with nats consumer rm, and use its stream for nothing else"
	case 10077: // bytes
		return "the stream is full: see that relays deliver the events, or raise the bound with footfall stream apply -max-bytes"
	case 10008: // no leader
		return "JetStream has no leader: see that a majority of the servers runs"
	}
	return "NATS refuses the request: the log of the NATS server may say why"
}

// tlsRemedy says what to do about an error of TLS. It returns "" for other errors.
func tlsRemedy(err error) string {
	var untrusted x509.UnknownAuthorityError
	var other x509.HostnameError
	var remote *net.OpError
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
	case invalid:
		return "the server's certificate has expired or is not valid yet: renew it, or correct the clock of this machine"
	case errors.As(err, &remote) && remote.Op == "remote error", errors.Is(err, nats.ErrTLS): // an alert, or closed after the handshake
		return "the server does not accept this client's certificate: set -tlscert and -tlskey to one that is valid and that the server's authority has signed"
	}
	return ""
}
