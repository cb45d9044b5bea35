package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// SettingsError reports a stream of NATS whose settings differ from Config. [Open], [NewRelay] and
// [Relay.Run] return it if the stream does not do with an event what this package promises. [Check]
// returns it for other differences, too.
type SettingsError struct {
	Stream      string
	Differences []Difference
}

// Difference is a setting of an existing stream that differs.
type Difference struct {
	Setting string // as the nats command names it, such as "retention"
	Have    string // of the stream
	Want    string // of Config
	Bound   bool   // programs and relays log the difference and use the stream as it is
}

// Fatal reports whether programs and relays cannot use the stream: not only bounds differ.
func (e *SettingsError) Fatal() bool {
	return slices.ContainsFunc(e.Differences, func(d Difference) bool { return !d.Bound })
}

func (e *SettingsError) Error() string {
	return fmt.Sprintf("stream: the NATS stream %q exists with other settings: %s: "+
		`set stream.Config to the settings of the stream, or change its bounds with "footfall stream apply" and other settings with "nats stream edit", or use another Name and Subject`,
		e.Stream, e.list())
}

// list describes the differences.
func (e *SettingsError) list() string {
	var texts []string
	for _, d := range e.Differences {
		texts = append(texts, fmt.Sprintf("%s is %s, not %s", d.Setting, d.Have, d.Want))
	}
	return strings.Join(texts, "; ")
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
		Duplicates:  within(c.RejectedMaxAge, c.DuplicateWindow),
	}
}

// ensureRejected does what ensure does for the stream of rejected events. A new one has the replicas
// of the stream of events.
func (l *link) ensureRejected(ctx context.Context) error {
	want := l.cfg.wantedRejected()
	want.Replicas = cmp.Or(int(l.replicas.Load()), want.Replicas)
	return l.ensure(ctx, want)
}

// ensure creates the stream, or compares the settings of the existing one. It returns nil if the
// account may not read it: then only a publish shows whether the stream exists.
func (l *link) ensure(ctx context.Context, want jetstream.StreamConfig) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.create(ctx, want)
	} else if err = l.reason(err, streamInfo+want.Name); isDenied(err) {
		l.log.Warn("stream: the account of NATS may not read the stream; its settings are not checked", "stream", want.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("stream: NATS stream %q: %w", want.Name, err)
	}
	if want.Name == l.cfg.Name {
		l.note(s.CachedInfo())
	}
	return l.follow(want.Name, compare(s.CachedInfo().Config, want))
}

// create creates the stream. It does not ask again after NATS has said that the account may not create it:
// another one creates it.
func (l *link) create(ctx context.Context, want jetstream.StreamConfig) (s jetstream.Stream, err error) {
	err = l.denied(streamCreate + want.Name)
	if err == nil {
		s, err = l.js.CreateStream(ctx, want)
		err = l.reason(err, streamCreate+want.Name)
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return l.js.Stream(ctx, want.Name) // another program was faster
	case isDenied(err):
		return nil, fmt.Errorf("it does not exist, and the account may not create it: start a relay whose account may: %w", err)
	}
	return s, err
}

// follow returns an error of compare if the link cannot use the stream. It logs other differences,
// and the same ones once, because an operator may change a stream before or after the programs.
func (l *link) follow(stream string, err error) error {
	other, _ := errors.AsType[*SettingsError](err)
	if other != nil && other.Fatal() {
		return err
	}
	text := ""
	if other != nil {
		text = other.list()
	}
	if said, ok := l.said.Swap(stream, text); other != nil && (!ok || said != text) {
		l.log.Warn("stream: the NATS stream has other bounds than Config; it is used as it is. footfall stream apply changes it", "stream", stream, "bounds", text)
	}
	return nil
}

// compare returns a *SettingsError if have differs from want.
func compare(have, want jetstream.StreamConfig) error {
	var d []Difference
	add := func(bound bool, setting string, have, want any) {
		if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
			d = append(d, Difference{setting, h, w, bound})
		}
	}
	// What decides whether an acknowledged event is kept until a relay has delivered it.
	check := func(setting string, have, want any) { add(false, setting, have, want) }
	bound := func(setting string, have, want any) { add(true, setting, have, want) }
	slices.Sort(have.Subjects)
	check("subjects", strings.Join(have.Subjects, " "), strings.Join(want.Subjects, " "))
	check("retention", lower(have.Retention), lower(want.Retention))
	check("storage", lower(have.Storage), lower(want.Storage))
	bound("replicas", have.Replicas, want.Replicas)
	check("discard", lower(have.Discard), lower(want.Discard))
	bound("max bytes", have.MaxBytes, want.MaxBytes)
	bound("max age", age(have.MaxAge), age(want.MaxAge))
	bound("duplicate window", have.Duplicates, want.Duplicates)
	bound("max messages", have.MaxMsgs, want.MaxMsgs)
	check("max messages per subject", max(have.MaxMsgsPerSubject, 0), 0) // removes the oldest
	bound("max message size", max(have.MaxMsgSize, 0), 0)
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
