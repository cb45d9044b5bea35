package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// SettingsError reports a stream of NATS whose settings differ from Config.
type SettingsError struct {
	Stream      string
	Differences []Difference
}

// Difference is a setting of an existing stream that differs.
type Difference struct {
	Setting string // as the nats command names it, such as "retention"
	Have    string // of the stream
	Want    string // of Config
}

func (e *SettingsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stream: the NATS stream %q exists with other settings: ", e.Stream)
	for i, d := range e.Differences {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s is %s, not %s", d.Setting, d.Have, d.Want)
	}
	b.WriteString(`: set stream.Config to the settings of the stream, or change the stream with "nats stream edit", or use another Name and Subject`)
	return b.String()
}

// wanted returns the settings of the stream of events.
func (c *Config) wanted() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        c.Name,
		Description: "Events of Footfall that wait for a relay",
		Subjects:    []string{c.Subject},
		Retention:   jetstream.WorkQueuePolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		Replicas:    c.Replicas,
		MaxMsgs:     -1,
		MaxBytes:    c.MaxBytes,
		MaxAge:      max(c.MaxAge, 0),
		Duplicates:  c.DuplicateWindow,
	}
}

// wantedRejected returns the settings of the stream of rejected events.
func (c *Config) wantedRejected() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        c.rejectedName(),
		Description: "Events of Footfall that the API rejected",
		Subjects:    []string{c.rejectedSubject()},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardOld,
		Replicas:    c.Replicas,
		MaxMsgs:     -1,
		MaxBytes:    c.RejectedMaxBytes,
		MaxAge:      max(c.RejectedMaxAge, 0),
		Duplicates:  c.DuplicateWindow,
	}
}

// ensure creates the stream, or compares the settings of the existing one. It returns nil if the
// account may do neither: then only a publish shows whether the stream exists.
func (l *link) ensure(ctx context.Context, want jetstream.StreamConfig) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if s, err = l.js.CreateStream(ctx, want); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = l.js.Stream(ctx, want.Name) // another program was faster
		}
	}
	switch {
	case err == nil:
		return compare(s.CachedInfo().Config, want)
	case l.forbidden():
		l.log.Warn("stream: the account of NATS may neither create nor read the stream; its settings are not checked", "stream", want.Name)
		return nil
	}
	return fmt.Errorf("stream: NATS stream %q: %w", want.Name, err)
}

// forbidden reports whether the last error of the connection is a missing permission.
func (l *link) forbidden() bool { return errors.Is(l.nc.LastError(), nats.ErrPermissionViolation) }

// compare returns a *SettingsError if have differs from want.
func compare(have, want jetstream.StreamConfig) error {
	var d []Difference
	check := func(setting string, have, want any) {
		if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
			d = append(d, Difference{setting, h, w})
		}
	}
	slices.Sort(have.Subjects)
	check("subjects", strings.Join(have.Subjects, " "), strings.Join(want.Subjects, " "))
	check("retention", lower(have.Retention), lower(want.Retention))
	check("storage", lower(have.Storage), lower(want.Storage))
	check("replicas", have.Replicas, want.Replicas)
	check("discard", lower(have.Discard), lower(want.Discard))
	check("max bytes", have.MaxBytes, want.MaxBytes)
	check("max age", age(have.MaxAge), age(want.MaxAge))
	check("duplicate window", have.Duplicates, want.Duplicates)
	check("max messages", have.MaxMsgs, want.MaxMsgs)
	check("max messages per subject", max(have.MaxMsgsPerSubject, 0), 0)
	check("max message size", max(have.MaxMsgSize, 0), 0)
	check("no ack", have.NoAck, false)
	check("sealed", have.Sealed, false)
	check("mirror", have.Mirror != nil, false)
	check("persist mode", have.PersistMode, want.PersistMode)
	if d != nil {
		return &SettingsError{want.Name, d}
	}
	return nil
}

func lower(s fmt.Stringer) string { return strings.ToLower(s.String()) }

func age(d time.Duration) string {
	if d <= 0 {
		return "unlimited"
	}
	return d.String()
}
