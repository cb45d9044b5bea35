package natsconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

// Variables of the environment without a flag, because other users of a machine see the command
// lines of its programs.
const (
	UserVariable     = "FOOTFALL_NATS_USER"
	PasswordVariable = "FOOTFALL_NATS_PASSWORD"
)

// Timeout bounds each attempt to connect and each request.
const Timeout = 5 * time.Second

// Servers are the servers of NATS, and how to connect to them.
type Servers struct {
	URLs    []string
	flag    string // "-nats or FOOTFALL_NATS_URL"
	as      string // the credentials, for messages
	options []nats.Option

	operates bool // the command is for an operator, whose user may do more than a program's or a relay's
}

// String returns the addresses without passwords.
func (s *Servers) String() string { return shell.ShownURLs(s.URLs) }

// Config adds the servers to the settings of a stream.
func (s *Servers) Config(cfg stream.Config, log *slog.Logger) stream.Config {
	cfg.URL, cfg.Options, cfg.Logger = strings.Join(s.URLs, ","), s.options, log
	return cfg
}

// Only returns one of the servers.
func (s *Servers) Only(url string) *Servers {
	one := *s
	one.URLs = []string{url}
	return &one
}

// Connect connects to one of the servers.
func (s *Servers) Connect(name string, log *slog.Logger, more ...nats.Option) (*nats.Conn, error) {
	options := append(s.options[:len(s.options):len(s.options)],
		nats.Name("footfall "+name), nats.Timeout(Timeout), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the connection to NATS is lost; reconnecting", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("connected to NATS again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("NATS reports an error", "error", err) }))
	nc, err := nats.Connect(strings.Join(s.URLs, ","), append(options, more...)...)
	if err != nil {
		return nil, s.Explain(err)
	}
	return nc, nil
}

// Open connects for a command of an operator, and returns the settings of its stream with the connection. Call stop
// to end it.
func (s *Servers) Open(name string, cfg stream.Config, log *slog.Logger) (opened stream.Config, stop func(), err error) {
	s.operates = true
	nc, err := s.Connect(name, log)
	if err != nil {
		return cfg, nil, err
	}
	opened = s.Config(cfg, log)
	opened.Conn = nc
	return opened, nc.Close, nil
}

// explained is an error of NATS with what to do about it.
type explained struct {
	at, found, remedy string
	err               error
}

func (e *explained) Error() string { return fmt.Sprintf("NATS at %s: %s: %s", e.at, e.found, e.remedy) }

func (e *explained) Unwrap() error { return e.err }

// Explain adds what to do to an error of NATS.
func (s *Servers) Explain(err error) error {
	if _, known := errors.AsType[*explained](err); err == nil || known || errors.Is(err, context.Canceled) {
		return err
	}
	if wrong, ok := errors.AsType[*footfall.FieldError](err); ok { // a bound that a stream cannot get
		if flag := flagOf[strings.TrimPrefix(wrong.Field, "stream.Config.")]; flag != "" {
			return fmt.Errorf("-%s: %s", flag, wrong.Reason)
		}
	}
	found, remedy := s.Diagnose(err)
	if _, different := errors.AsType[*stream.SettingsError](err); different {
		return fmt.Errorf("%s: %s", found, remedy)
	}
	return &explained{s.String(), found, remedy, err}
}

// Diagnose says what an error of NATS is about, without the prefixes of packages, and what to do.
func (s *Servers) Diagnose(err error) (found, remedy string) {
	if e, ok := errors.AsType[*explained](err); ok {
		return e.found, e.remedy
	}
	if e, ok := errors.AsType[*stream.SettingsError](err); ok {
		return differences(e)
	}
	found = strings.TrimPrefix(err.Error(), "stream: ")
	if errors.Is(err, stream.ErrAckDenied) {
		found, _, _ = strings.Cut(found, ": give its user")
	}
	return strings.TrimPrefix(strings.TrimPrefix(found, "NATS: "), "nats: "), s.remedy(err)
}

// flagOf has the flag of each field of stream.Config, and of each setting of a stream that
// differs.
var flagOf = map[string]string{
	"Name": "stream", "Subject": "subject", "Replicas": "replicas", "MaxBytes": "max-bytes", "MaxAge": "max-age",
	"DuplicateWindow": "duplicate-window", "RejectedMaxBytes": "rejected-max-bytes", "RejectedMaxAge": "rejected-max-age",

	"subjects": "subject", "replicas": "replicas", "max bytes": "max-bytes", "max age": "max-age", "duplicate window": "duplicate-window",
}

// differences says what differs between an existing stream and the flags, and what to do.
func differences(e *stream.SettingsError) (found, remedy string) {
	var list, as, to []string // as the stream is, and as the flags want it
	for _, d := range e.Differences {
		text := fmt.Sprintf("%s is %s, not %s", d.Setting, d.Have, d.Want)
		name, have := flagOf[d.Setting], d.Have
		if strings.HasSuffix(e.Stream, "_REJECTED") {
			have = strings.TrimSuffix(have, ".rejected") // of the subject
			if strings.HasPrefix(name, "max-") {
				name = "rejected-" + name
			}
		}
		if name != "" {
			text += " (-" + name + ")"
			as, to = append(as, "-"+name+" "+have), append(to, "-"+name+" "+d.Want)
		}
		list = append(list, text)
	}
	switch {
	case len(as) < len(list) || e.Fatal() && len(list) > 1:
		remedy = "change the stream with nats stream edit " + e.Stream + ", or use another -stream and -subject"
	case e.Fatal(): // the subject
		remedy = "give " + as[0] + ", and programs the same in stream.Config, or use another -stream"
	default:
		remedy = "change the stream with footfall stream apply " + strings.Join(to, " ") + ", or give " + strings.Join(as, " ") + ", and programs the same in stream.Config"
	}
	return fmt.Sprintf("the NATS stream %q exists with other settings: %s", e.Stream, strings.Join(list, "; ")), remedy
}
