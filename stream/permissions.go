package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// denial is an error of NATS about a permission that the user needs and does not have.
type denial struct{ error }

func (d denial) Unwrap() error { return d.error }

// isDenied reports whether err is a denial. Another error may contain an old one of the connection.
func isDenied(err error) bool {
	_, ok := errors.AsType[denial](err)
	return ok
}

// reason returns why a request failed whose error is err. NATS does not answer a request that the user may
// not make: it reports an error of the connection, and the request times out.
func (l *link) reason(err error, subject string) error {
	switch {
	case err == nil:
		return nil
	case !l.nc.IsConnected():
		return fmt.Errorf("%w: %w", l.away(), err)
	case errors.Is(err, context.DeadlineExceeded):
		return cmp.Or(l.denied(subject), err)
	}
	return err
}

// denied returns a denial if the last error of the connection is that the user may not publish to the
// subject, or may not receive answers. An error about another subject says nothing about this one.
func (l *link) denied(subject string) error {
	last := l.nc.LastError()
	if !errors.Is(last, nats.ErrPermissionViolation) {
		return nil
	}
	inbox := cmp.Or(l.nc.Opts.InboxPrefix, "_INBOX")
	for _, text := range []string{fmt.Sprintf("Publish to %q", subject), `Subscription to "` + inbox + "."} {
		if strings.Contains(last.Error(), text) {
			return denial{last}
		}
	}
	return nil
}

// forbidden reports whether the last error of the connection is a missing permission.
func (l *link) forbidden() bool { return errors.Is(l.nc.LastError(), nats.ErrPermissionViolation) }

// Subjects of requests to JetStream, without the names of the stream and of the consumer.
const (
	streamInfo     = "$JS.API.STREAM.INFO."
	streamCreate   = "$JS.API.STREAM.CREATE."
	streamUpdate   = "$JS.API.STREAM.UPDATE."
	streamPurge    = "$JS.API.STREAM.PURGE."
	messageGet     = "$JS.API.STREAM.MSG.GET."
	messageDelete  = "$JS.API.STREAM.MSG.DELETE."
	consumerInfo   = "$JS.API.CONSUMER.INFO."
	consumerCreate = "$JS.API.CONSUMER.CREATE."
	consumerNext   = "$JS.API.CONSUMER.MSG.NEXT."
)
