// Package natsconn connects commands to NATS: flags of the servers and of the stream, the connection,
// and what to do about an error.
package natsconn

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

// Flags are the flags of each command that connects to NATS. They have the names of the nats command's flags.
func Flags() []cli.Flag {
	return []cli.Flag{
		shell.Option("nats", "FOOTFALL_NATS_URL", "the `ADDRESSES` of the NATS servers, separated by commas, such as nats://nats-1:4222,nats://nats-2:4222"),
		shell.Option("creds", "FOOTFALL_NATS_CREDS", "the credentials `FILE` of the NATS user; "+UserVariable+" and "+PasswordVariable+" are for servers with passwords"),
		shell.Option("tlsca", "FOOTFALL_NATS_CA", "a PEM `FILE` with the certificates that may sign the servers' ones"),
		shell.Option("tlscert", "FOOTFALL_NATS_CERT", "a PEM `FILE` with the client's certificate"),
		shell.Option("tlskey", "FOOTFALL_NATS_KEY", "a PEM `FILE` with the client's key"),
	}
}

// NameFlags are the flags of commands that use a stream which exists.
func NameFlags() []cli.Flag {
	return []cli.Flag{
		shell.Option("stream", "FOOTFALL_NATS_STREAM", "the `NAME` of the stream; without it FOOTFALL"),
		SubjectFlag(),
	}
}

// SubjectFlag names the subject of the events.
func SubjectFlag() cli.Flag {
	return shell.Option("subject", "FOOTFALL_NATS_SUBJECT", "the `SUBJECT` of the events; without it footfall.events")
}

// StreamFlags are the flags of commands that create or compare a stream.
func StreamFlags() []cli.Flag {
	return append(NameFlags(),
		shell.Option("replicas", "FOOTFALL_NATS_REPLICAS", "`NUMBER` of servers that keep each event, 1, 3 or 5; without it 3"),
		shell.Option("max-bytes", "FOOTFALL_NATS_MAX_BYTES", "`SIZE` above which the stream refuses events; without it 1GiB"),
		shell.Option("max-age", "FOOTFALL_NATS_MAX_AGE", "`DURATION` after which events are removed unsent, or unlimited; without it 168h. The collector's -idempotency-window should be as long"),
		shell.Option("duplicate-window", "FOOTFALL_NATS_DUPLICATE_WINDOW", "`DURATION` in which an event that is published twice is kept once; without it 2m"),
		shell.Option("rejected-max-bytes", "FOOTFALL_NATS_REJECTED_MAX_BYTES", "`SIZE` above which the oldest rejected events are removed; without it 64MiB"),
		shell.Option("rejected-max-age", "FOOTFALL_NATS_REJECTED_MAX_AGE", "`DURATION` after which rejected events are removed, or unlimited; without it 720h"),
	)
}

// ConsumerFlag names the consumer that relays share.
func ConsumerFlag() cli.Flag {
	return shell.Option("consumer", "FOOTFALL_NATS_CONSUMER", "the `NAME` of the consumer that relays share; without it footfall-relay")
}

// ReadConsumer reads the flag of ConsumerFlag.
func ReadConsumer(v *shell.Values) string {
	name := cmp.Or(v.String("consumer"), "footfall-relay")
	for _, reason := range shell.FieldErrors((stream.RelayConfig{Consumer: name}).Validate()) {
		v.Wrong("consumer", "is wrong: "+reason)
	}
	return name
}

// Read reads the flags of Flags, without a connection.
func Read(v *shell.Values) *Servers {
	s := &Servers{URLs: addresses(v), flag: v.Label("nats")}
	s.credentials(v)
	s.certificates(v)
	return s
}

// addresses reads the addresses. The problems do not quote them, because they may contain
// passwords.
func addresses(v *shell.Values) (urls []string) {
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
			v.Problem("%s: entry %d is not an address such as nats://nats-1:4222 or tls://nats-1:4222", v.Label("nats"), i+1)
			continue
		case stream.Config{URL: text}.Validate() != nil:
			v.Problem("%s: entry %d: the port %s is not from 1 to 65535", v.Label("nats"), i+1, u.Port())
			continue
		}
		urls = append(urls, text)
	}
	return urls
}

// credentials reads how a connection authenticates itself.
func (s *Servers) credentials(v *shell.Values) {
	file, user, password := v.String("creds"), os.Getenv(UserVariable), os.Getenv(PasswordVariable)
	s.as = "no credentials were given"
	switch {
	case file != "" && (user != "" || password != ""):
		v.Problem("%s: cannot be combined with %s or %s: set either the file, or user and password", v.Label("creds"), UserVariable, PasswordVariable)
	case password != "" && user == "":
		v.Problem("%s: set without %s", PasswordVariable, UserVariable)
	case file != "":
		s.as = "credentials of " + file
		s.options = append(s.options, nats.UserCredentials(file)) // reads it at each attempt to connect
		text, err := os.ReadFile(file)
		if err != nil {
			v.Wrong("creds", "cannot be read: "+err.Error())
			return
		}
		_, badToken := nkeys.ParseDecoratedJWT(text)
		if _, badSeed := nkeys.ParseDecoratedUserNKey(text); badToken != nil || badSeed != nil {
			v.Wrong("creds", "is not a credentials file of NATS, which has a token and the seed of a user: nsc generate creds writes one")
		}
	case user != "":
		s.as = fmt.Sprintf("user %q of %s", user, UserVariable)
		s.options = append(s.options, nats.UserInfo(user, password))
	case strings.Contains(v.String("nats"), "@"):
		s.as = "user and password of " + s.flag
	}
}

// certificates reads the files for TLS.
func (s *Servers) certificates(v *shell.Values) {
	if file := v.String("tlsca"); file != "" {
		text, err := os.ReadFile(file)
		switch {
		case err != nil:
			v.Wrong("tlsca", "cannot be read: "+err.Error())
		case !x509.NewCertPool().AppendCertsFromPEM(text):
			v.Wrong("tlsca", "has no certificate in PEM")
		default:
			s.options = append(s.options, nats.RootCAs(file))
		}
	}
	cert, key := v.String("tlscert"), v.String("tlskey")
	switch {
	case cert == "" && key == "":
	case key == "":
		v.Wrong("tlscert", "needs "+v.Label("tlskey")+", too")
	case cert == "":
		v.Wrong("tlskey", "needs "+v.Label("tlscert")+", too")
	default:
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			v.Wrong("tlscert", fmt.Sprintf("and -tlskey %q are not a certificate and its key: %v", key, err))
			return
		}
		s.options = append(s.options, nats.ClientCert(cert, key))
	}
}

// ReadStream reads the flags of StreamFlags, NameFlags or SubjectFlag.
func ReadStream(v *shell.Values) stream.Config {
	cfg := readStream(v)
	validate(v, cfg)
	return cfg
}

// ReadBounds reads the flags of StreamFlags for a stream that exists: a bound that is not given is the stream's.
func ReadBounds(v *shell.Values) stream.Config {
	cfg := readStream(v)
	given := cfg
	if given.MaxAge == 0 {
		given.MaxAge = -1 // otherwise the duplicate window would be compared with the default
	}
	validate(v, given)
	return cfg
}

func readStream(v *shell.Values) stream.Config {
	return stream.Config{
		Name:             cmp.Or(v.String("stream"), "FOOTFALL"),
		Subject:          cmp.Or(v.String("subject"), "footfall.events"),
		Replicas:         v.Number("replicas", "1, 3 or 5"),
		MaxBytes:         v.Size("max-bytes"),
		MaxAge:           v.Duration("max-age", true),
		DuplicateWindow:  v.Duration("duplicate-window", false),
		RejectedMaxBytes: v.Size("rejected-max-bytes"),
		RejectedMaxAge:   v.Duration("rejected-max-age", true),
		Timeout:          Timeout,
	}
}

// validate reports the fields of cfg that are wrong.
func validate(v *shell.Values, cfg stream.Config) {
	for field, reason := range shell.FieldErrors(cfg.Validate()) {
		name := flagOf[strings.TrimPrefix(field, "stream.Config.")]
		v.Wrong(cmp.Or(name, field), "is wrong: "+reason)
	}
}

// BoundsGiven reports whether cfg has a bound of a stream.
func BoundsGiven(cfg stream.Config) bool {
	return cfg.Replicas != 0 || cfg.MaxBytes != 0 || cfg.MaxAge != 0 || cfg.DuplicateWindow != 0 || cfg.RejectedMaxBytes != 0 || cfg.RejectedMaxAge != 0
}

// Require reports that no address is set. or names what may be set in its place.
func (s *Servers) Require(v *shell.Values, or string) {
	if v.Err() == nil && len(s.URLs) == 0 {
		v.Problem("%s: not set: set it to the addresses of the NATS servers, such as nats://nats-1:4222%s", s.flag, or)
	}
}
