package stream

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/safelog"
)

// Config says where the streams are and how to create them. The zero value of a field means its
// default. Every program and relay of a fleet uses the same Name and Subject. Replicas, MaxBytes,
// MaxAge and the other bounds are for a stream that does not exist yet: if an existing stream has
// other bounds, programs and relays log them and use it as it is. [Apply] changes them.
type Config struct {
	// URL is the address of the NATS servers, separated by commas, such as
	// "nats://nats-1:4222,nats://nats-2:4222". Defaults to "nats://127.0.0.1:4222".
	URL string

	// Conn is a connection to use in place of URL and Options. It is not closed. It does not
	// buffer events that are published while it is not connected.
	Conn *nats.Conn

	// Options are options of the connection, such as nats.UserCredentials, nats.RootCAs and
	// nats.ClientCert.
	Options []nats.Option

	// Name is the name of the stream. The name of the stream of rejected events is Name with
	// "_REJECTED" appended. Defaults to "FOOTFALL".
	Name string

	// Subject is the subject on which events are published. The subject of rejected events is
	// Subject with ".rejected" appended. Defaults to "footfall.events".
	Subject string

	// Replicas is the number of servers that keep each event: 1, 3 or 5. Defaults to 3, which
	// requires a cluster of three servers.
	Replicas int

	// MaxBytes bounds the stream. NATS refuses events when it is full; they wait in the queues
	// of the trackers. Defaults to 1 GiB.
	MaxBytes int64

	// MaxAge is how long an event may wait in the stream. NATS removes older events unsent.
	// Negative means no bound. An event that a relay sends again after that time counts twice
	// unless the API still remembers its Idempotency-Key: the collector does for its
	// -idempotency-window. Defaults to 7 days.
	MaxAge time.Duration

	// DuplicateWindow is how long NATS remembers the ids of events. An event that is published
	// twice within it is kept once. Defaults to 2 minutes, or to MaxAge if that is less.
	DuplicateWindow time.Duration

	// RejectedMaxBytes and RejectedMaxAge bound the stream of rejected events, which removes
	// the oldest ones. A negative RejectedMaxAge means no bound in time. Default to 64 MiB and
	// 30 days.
	RejectedMaxBytes int64
	RejectedMaxAge   time.Duration

	// Timeout bounds each connection attempt and each request to NATS other than a published
	// event, which has footfall.Config.AttemptTimeout. Defaults to 5 s.
	Timeout time.Duration

	// Logger receives a line when NATS cannot be used and when it can be used again. Defaults
	// to the tracker's, and to slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults(log *slog.Logger) Config {
	c.URL = cmp.Or(c.URL, nats.DefaultURL)
	c.Name = cmp.Or(c.Name, defaultName)
	c.Subject = cmp.Or(c.Subject, defaultSubject)
	c.Replicas = cmp.Or(c.Replicas, 3)
	c.MaxBytes = cmp.Or(c.MaxBytes, 1<<30)
	c.MaxAge = cmp.Or(c.MaxAge, 7*24*time.Hour)
	c.DuplicateWindow = cmp.Or(c.DuplicateWindow, within(c.MaxAge, 2*time.Minute))
	c.RejectedMaxBytes = cmp.Or(c.RejectedMaxBytes, 64<<20)
	c.RejectedMaxAge = cmp.Or(c.RejectedMaxAge, 30*24*time.Hour)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Logger = safelog.New(cmp.Or(c.Logger, log, slog.Default()))
	return c
}

// within returns d, or age if that is less. NATS allows no duplicate window that is longer than the age.
func within(age, d time.Duration) time.Duration {
	if age > 0 {
		d = min(age, d)
	}
	return d
}

func (c *Config) rejectedName() string    { return c.Name + rejectedSuffix }
func (c *Config) rejectedSubject() string { return c.Subject + ".rejected" }

const (
	defaultName    = "FOOTFALL"
	defaultSubject = "footfall.events"
	rejectedSuffix = "_REJECTED"
	longestName    = 255 // of a stream or consumer of NATS
)

// hasSpecial reports whether NATS does not allow name for a stream or consumer.
func hasSpecial(name string) bool { return strings.ContainsAny(name, " .*>/\\\t\r\n") }

// check reports every problem.
func (c *Config) check() error {
	var problems []error
	report := func(wrong bool, field, reason string) {
		if wrong {
			problems = append(problems, &footfall.FieldError{Field: "stream.Config." + field, Reason: reason})
		}
	}
	if c.Conn == nil {
		wrong := wrongURL(c.URL)
		report(wrong != "", "URL", wrong)
	}
	report(hasSpecial(c.Name), "Name", "contains a space, '.', '*', '>', '/' or '\\', which NATS does not allow in the name of a stream")
	report(len(c.rejectedName()) > longestName, "Name", fmt.Sprintf("longer than %d bytes, which with _REJECTED is more than NATS allows", longestName-len(rejectedSuffix)))
	report(!isSubject(c.Subject), "Subject", "not one subject of NATS: use words separated by '.', without spaces and wildcards")
	report(c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5, "Replicas", "not 1, 3 or 5")
	report(c.MaxBytes < 0, "MaxBytes", "negative: the stream needs a bound")
	report(c.RejectedMaxBytes < 0, "RejectedMaxBytes", "negative: the stream needs a bound")
	report(c.DuplicateWindow < 0, "DuplicateWindow", "negative: an event that is published again would be kept twice")
	report(c.MaxAge > 0 && c.DuplicateWindow > c.MaxAge, "DuplicateWindow", fmt.Sprintf("longer than MaxAge, %v, which NATS does not allow", c.MaxAge))
	report(c.Timeout < 0, "Timeout", "negative")
	return errors.Join(problems...)
}

// isSubject reports whether s is a subject without wildcards.
func isSubject(s string) bool {
	for word := range strings.SplitSeq(s, ".") {
		if word == "" || strings.ContainsAny(word, "*> \t\r\n") {
			return false
		}
	}
	return true
}
