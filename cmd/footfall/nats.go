package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/stream"
)

// Variables of the environment without a flag, because other users of a machine see the command
// lines of its programs.
const (
	userVariable     = "FOOTFALL_NATS_USER"
	passwordVariable = "FOOTFALL_NATS_PASSWORD"
)

// natsTimeout bounds each attempt to connect and each request.
const natsTimeout = 5 * time.Second

// natsFlags are the flags of each command that connects to NATS. Their names are those of the nats command.
func natsFlags() []cli.Flag {
	return []cli.Flag{
		option("nats", "FOOTFALL_NATS_URL", "the `ADDRESSES` of the NATS servers, separated by commas, such as nats://nats-1:4222,nats://nats-2:4222"),
		option("creds", "FOOTFALL_NATS_CREDS", "the credentials `FILE` of the NATS user; "+userVariable+" and "+passwordVariable+" are for servers with passwords"),
		option("tlsca", "FOOTFALL_NATS_CA", "a PEM `FILE` with the certificates that may sign the servers' ones"),
		option("tlscert", "FOOTFALL_NATS_CERT", "a PEM `FILE` with the client's certificate"),
		option("tlskey", "FOOTFALL_NATS_KEY", "a PEM `FILE` with the client's key"),
	}
}

// nameFlags are the flags of commands that use a stream which exists.
func nameFlags() []cli.Flag {
	return []cli.Flag{
		option("stream", "FOOTFALL_NATS_STREAM", "the `NAME` of the stream; without it FOOTFALL"),
		subjectFlag(),
	}
}

// subjectFlag names the subject of the events.
func subjectFlag() cli.Flag {
	return option("subject", "FOOTFALL_NATS_SUBJECT", "the `SUBJECT` of the events; without it footfall.events")
}

// streamFlags are the flags of commands that create or compare a stream.
func streamFlags() []cli.Flag {
	return append(nameFlags(),
		option("replicas", "FOOTFALL_NATS_REPLICAS", "`NUMBER` of servers that keep each event, 1, 3 or 5; without it 3"),
		option("max-bytes", "FOOTFALL_NATS_MAX_BYTES", "`SIZE` above which the stream refuses events; without it 1GiB"),
		option("max-age", "FOOTFALL_NATS_MAX_AGE", "`DURATION` after which events are removed unsent, or unlimited; without it 168h"),
		option("duplicate-window", "FOOTFALL_NATS_DUPLICATE_WINDOW", "`DURATION` in which an event that is published twice is kept once; without it 2m"),
		option("rejected-max-bytes", "FOOTFALL_NATS_REJECTED_MAX_BYTES", "`SIZE` above which the oldest rejected events are removed; without it 64MiB"),
		option("rejected-max-age", "FOOTFALL_NATS_REJECTED_MAX_AGE", "`DURATION` after which rejected events are removed, or unlimited; without it 720h"),
	)
}

// flagOf has the flag of each field of stream.Config, and of each setting of a stream that
// differs.
var flagOf = map[string]string{
	"Name": "stream", "Subject": "subject", "Replicas": "replicas", "MaxBytes": "max-bytes", "MaxAge": "max-age",
	"DuplicateWindow": "duplicate-window", "RejectedMaxBytes": "rejected-max-bytes", "RejectedMaxAge": "rejected-max-age",

	"subjects": "subject", "replicas": "replicas", "max bytes": "max-bytes", "max age": "max-age", "duplicate window": "duplicate-window",
}

// servers are the servers of NATS, and how to connect to them.
type servers struct {
	urls    []string
	flag    string // "-nats or FOOTFALL_NATS_URL"
	as      string // the credentials, for messages
	options []nats.Option
}

// servers reads the flags of natsFlags, without a connection.
func (v *values) servers() *servers {
	s := &servers{flag: v.both("nats")}
	s.urls = v.natsURLs()
	v.credentials(s)
	v.certificates(s)
	return s
}

// natsURLs reads the addresses. The problems do not quote them, because they may contain
// passwords.
func (v *values) natsURLs() (urls []string) {
	for i, text := range strings.Split(v.String("nats"), ",") {
		text = strings.TrimSpace(text)
		if text != "" && !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		switch {
		case text == "":
			continue
		case err != nil || u.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			v.problems = append(v.problems, fmt.Errorf("%s: entry %d is not an address such as nats://nats-1:4222 or tls://nats-1:4222", v.both("nats"), i+1))
			continue
		}
		urls = append(urls, text)
	}
	return urls
}

// credentials reads how a connection authenticates itself.
func (v *values) credentials(s *servers) {
	file, user, password := v.String("creds"), os.Getenv(userVariable), os.Getenv(passwordVariable)
	s.as = "no credentials were given"
	switch {
	case file != "" && (user != "" || password != ""):
		v.problems = append(v.problems, fmt.Errorf("%s: set, and so is %s or %s: set either the file, or user and password", v.both("creds"), userVariable, passwordVariable))
	case password != "" && user == "":
		v.problems = append(v.problems, fmt.Errorf("%s: set without %s", passwordVariable, userVariable))
	case file != "":
		s.as = "credentials of " + file
		s.options = append(s.options, nats.UserCredentials(file)) // reads it at each attempt to connect
		text, err := os.ReadFile(file)
		if err != nil {
			v.report("creds", "cannot be read: "+err.Error())
			return
		}
		_, badToken := nkeys.ParseDecoratedJWT(text)
		if _, badSeed := nkeys.ParseDecoratedUserNKey(text); badToken != nil || badSeed != nil {
			v.report("creds", "is not a credentials file of NATS, which has a token and the seed of a user: nsc generate creds writes one")
		}
	case user != "":
		s.as = fmt.Sprintf("user %q of %s", user, userVariable)
		s.options = append(s.options, nats.UserInfo(user, password))
	case strings.Contains(v.String("nats"), "@"):
		s.as = "user and password of " + s.flag
	}
}

// certificates reads the files for TLS.
func (v *values) certificates(s *servers) {
	if file := v.String("tlsca"); file != "" {
		text, err := os.ReadFile(file)
		switch {
		case err != nil:
			v.report("tlsca", "cannot be read: "+err.Error())
		case !x509.NewCertPool().AppendCertsFromPEM(text):
			v.report("tlsca", "has no certificate in PEM")
		default:
			s.options = append(s.options, nats.RootCAs(file))
		}
	}
	cert, key := v.String("tlscert"), v.String("tlskey")
	switch {
	case cert == "" && key == "":
	case key == "":
		v.report("tlscert", "needs "+v.both("tlskey")+", too")
	case cert == "":
		v.report("tlskey", "needs "+v.both("tlscert")+", too")
	default:
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			v.report("tlscert", fmt.Sprintf("and -tlskey %q are not a certificate and its key: %v", key, err))
			return
		}
		s.options = append(s.options, nats.ClientCert(cert, key))
	}
}

// stream reads the flags of streamFlags or nameFlags.
func (v *values) stream() stream.Config {
	cfg := stream.Config{
		Name:             v.String("stream"),
		Subject:          v.String("subject"),
		Replicas:         v.number("replicas", "1, 3 or 5"),
		MaxBytes:         v.size("max-bytes"),
		MaxAge:           v.duration("max-age", true),
		DuplicateWindow:  v.duration("duplicate-window", false),
		RejectedMaxBytes: v.size("rejected-max-bytes"),
		RejectedMaxAge:   v.duration("rejected-max-age", true),
		Timeout:          natsTimeout,
	}
	for field, reason := range fieldErrors(cfg.Validate()) {
		name := flagOf[strings.TrimPrefix(field, "stream.Config.")]
		v.report(cmp.Or(name, field), "is wrong: "+reason)
	}
	return cfg
}

// needNATS reports that no address is set.
func (v *values) needNATS(s *servers, or string) {
	if len(v.problems) == 0 && len(s.urls) == 0 {
		v.problems = append(v.problems, fmt.Errorf("%s: not set: set it to the addresses of the NATS servers, such as nats://nats-1:4222%s", s.flag, or))
	}
}

// shown returns the addresses without passwords.
func (s *servers) shown() string { return shownURLs(s.urls) }

func shownURLs(urls []string) string {
	var list []string
	for _, text := range urls {
		list = append(list, shownURL(text))
	}
	return strings.Join(list, ",")
}

func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil { // natsURLs has parsed it
		return "NATS"
	}
	u.User = nil
	return u.String()
}

// config adds the servers to the settings of a stream.
func (s *servers) config(cfg stream.Config, log *slog.Logger) stream.Config {
	cfg.URL, cfg.Options, cfg.Logger = strings.Join(s.urls, ","), s.options, log
	return cfg
}

// connect connects to one of the servers.
func (s *servers) connect(name string, log *slog.Logger, more ...nats.Option) (*nats.Conn, error) {
	options := append(s.options[:len(s.options):len(s.options)],
		nats.Name("footfall "+name), nats.Timeout(natsTimeout), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the connection to NATS is lost; reconnecting", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("connected to NATS again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("NATS reports an error", "error", err) }))
	nc, err := nats.Connect(strings.Join(s.urls, ","), append(options, more...)...)
	if err != nil {
		return nil, s.explain(err)
	}
	return nc, nil
}

// natsError is an error of NATS with what to do about it.
type natsError struct {
	at, remedy string
	err        error
}

func (e *natsError) Error() string {
	return fmt.Sprintf("NATS at %s: %s: %s", e.at, reasonOf(e.err), e.remedy)
}

func (e *natsError) Unwrap() error { return e.err }

// reasonOf returns the text of an error without the prefixes of packages.
func reasonOf(err error) string {
	text := strings.TrimPrefix(err.Error(), "stream: ")
	return strings.TrimPrefix(strings.TrimPrefix(text, "NATS: "), "nats: ")
}

// explain adds what to do to an error of NATS.
func (s *servers) explain(err error) error {
	if different, ok := errors.AsType[*stream.SettingsError](err); ok {
		found, remedy := differences(different)
		return fmt.Errorf("%s: %s", found, remedy)
	}
	if _, wrong := errors.AsType[*natsError](err); err == nil || wrong || errors.Is(err, context.Canceled) {
		return err
	}
	return &natsError{s.shown(), s.remedy(err), err}
}

// differences says what differs between an existing stream and the flags, and what to do.
func differences(e *stream.SettingsError) (found, remedy string) {
	var list, flags []string
	for _, d := range e.Differences {
		text := fmt.Sprintf("%s is %s, not %s", d.Setting, d.Have, d.Want)
		name := flagOf[d.Setting]
		if strings.HasSuffix(e.Stream, "_REJECTED") && strings.HasPrefix(name, "max-") {
			name = "rejected-" + name
		}
		if name != "" {
			text += " (-" + name + ")"
			flags = append(flags, "-"+name+" "+d.Have)
		}
		list = append(list, text)
	}
	remedy = "change the stream with nats stream edit " + e.Stream + ", or use another -stream and -subject"
	if len(flags) == len(list) {
		remedy = "give " + strings.Join(flags, " ") + ", and programs the same in stream.Config, or " + remedy
	}
	return fmt.Sprintf("the NATS stream %q exists with other settings: %s", e.Stream, strings.Join(list, "; ")), remedy
}

// streamName returns the name of a stream.
func streamName(cfg stream.Config) string { return cmp.Or(cfg.Name, "FOOTFALL") }
