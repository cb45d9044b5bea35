package natsconn

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
)

func TestARemedyFitsTheErrorOfNATS(t *testing.T) {
	t.Parallel()
	s := &Servers{flag: "-nats or FOOTFALL_NATS_URL", as: "user \"shop\""}
	api := func(code jetstream.ErrorCode) error {
		return fmt.Errorf("stream: consumer: %w", &jetstream.APIError{ErrorCode: code, Description: "some"})
	}
	for want, err := range map[string]error{
		"give a smaller -max-bytes, or raise max_file_store": api(10047),
		"use another -subject":                               api(10065),
		"correct the flag":                                   api(10052),
		"give -replicas 1, or run a cluster of three":        api(10074),
		"give -replicas 1, or start more servers":            api(10005),
		"nats consumer rm":                                   api(10099),
		"footfall stream apply -max-bytes":                   api(10077),
		"see that a majority of the servers runs":            api(10008),
		"the log of the NATS server":                         api(10999),
		"NATS is connected and does not answer":              fmt.Errorf("stream: %w", context.DeadlineExceeded),
		"check host and port in -nats or FOOTFALL_NATS_URL":  nats.ErrNoServers,
		"no DNS server knows the host":                       &net.DNSError{Err: "no such host", IsNotFound: true},
		"check the DNS server of this machine":               &net.DNSError{Err: "i/o timeout", IsTimeout: true},
		"and firewalls":                                      &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
	} {
		found, remedy := s.Diagnose(err)
		assert.NotEmpty(t, found)
		assert.Contains(t, remedy, want)
	}
}
