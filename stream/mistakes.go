package stream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// isMistake reports whether an error about a stream or consumer does not end without a change by an
// operator.
func isMistake(err error) bool {
	_, other := errors.AsType[*SettingsError](err)
	api, _ := errors.AsType[*jetstream.APIError](err)
	return other || errors.Is(err, ErrAckDenied) || api != nil && slices.Contains(mistakes, api.ErrorCode)
}

// mistakes are the codes of JetStream for what it does not create.
var mistakes = []jetstream.ErrorCode{
	10027, // as many streams as the account may have
	10047, // more bytes than the servers or the account have
	10052, // a setting, such as a duplicate window above a limit of the server
	10065, // a subject of another stream
	10074, // several replicas without a cluster
	10099, // a consumer of a work queue beside another
	10100, // the same, with a filter
}

// finalOf returns the error of a connection if the program should not wait until it can connect: a
// server refuses it, and none accepts it. err is of the server that came last in a random order, so
// finalOf asks each one.
func finalOf(urls string, options []nats.Option, err error) error {
	if isFinal(err) {
		return err
	}
	servers := addresses(urls)
	if len(servers) < 2 {
		return nil
	}
	errs := make([]error, len(servers))
	var trying sync.WaitGroup
	for i, server := range servers {
		trying.Go(func() {
			var nc *nats.Conn
			if nc, errs[i] = nats.Connect(server, options...); errs[i] == nil {
				nc.Close()
			}
		})
	}
	trying.Wait()
	if i := slices.IndexFunc(errs, isFinal); i >= 0 && !slices.Contains(errs, nil) {
		return errs[i]
	}
	return nil
}

// isFinal reports whether err does not end without a change by an operator.
func isFinal(err error) bool {
	for _, final := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
		nats.ErrSecureConnRequired, nats.ErrSecureConnWanted, nats.ErrNkeysNotSupported,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, parsing := errors.AsType[*url.Error](err)
	return untrusted || parsing
}

// addresses returns the entries of a list of URLs, each with a scheme.
func addresses(urls string) (list []string) {
	for one := range strings.SplitSeq(urls, ",") {
		if one = strings.TrimSpace(one); one != "" && !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		if one != "" {
			list = append(list, one)
		}
	}
	return list
}

// wrongURL says what is wrong in a list of URLs, without the passwords that they may contain.
func wrongURL(urls string) string {
	for i, one := range addresses(urls) {
		u, err := url.Parse(one)
		switch {
		case err != nil:
			return fmt.Sprintf("entry %d: %v", i+1, cause(err))
		case u.Hostname() == "":
			return fmt.Sprintf("entry %d: no host", i+1)
		case u.Port() == "":
			continue
		}
		if port, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
			return fmt.Sprintf("entry %d: port %s is not from 1 to 65535", i+1, u.Port())
		}
	}
	return ""
}

// cause returns the reason of an error of the parser, without the URL.
func cause(err error) error {
	if parsing, ok := errors.AsType[*url.Error](err); ok {
		return parsing.Err
	}
	return err
}
