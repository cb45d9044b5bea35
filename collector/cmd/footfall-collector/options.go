package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// options are the settings from the command line and the environment.
type options struct {
	command   *command
	file      string // argument of the command
	listen    string
	data      string // directory
	publicURL string
	metrics   string // address; empty for none
	proxies   []netip.Prefix
	retention time.Duration
	keyRate   float64       // 0 for the collector's default
	window    time.Duration // 0 for the collector's default
	conns     int           // 0 for the collector's default
}

// usageError is an error of the command line or of the environment.
type usageError struct{ error }

// Unwrap returns the reason.
func (e usageError) Unwrap() error { return e.error }

// settings defines the options of a command and collects their values.
type settings struct {
	*flag.FlagSet
	env       func(string) string
	options   options
	variables []string // of the options

	proxies, retention, keyRate, conns, window string // to be parsed by finish
}

func newSettings(env func(string) string) *settings {
	s := &settings{FlagSet: flag.NewFlagSet("footfall-collector", flag.ContinueOnError), env: env}
	s.SetOutput(io.Discard) // errors are returned, and printed once
	return s
}

// text defines an option. The environment variable replaces its default.
func (s *settings) text(into *string, name, variable, value, usage string) {
	s.variables = append(s.variables, variable)
	s.StringVar(into, name, cmp.Or(s.env(variable), value), usage+"\n"+variable)
}

// forData defines the options of all commands that use the data.
func (s *settings) forData() {
	s.text(&s.options.data, "data", "FOOTFALL_DATA", dataDir(), "`directory` of the data; serve creates it if it does not exist")
}

// forServe defines the options of the service.
func (s *settings) forServe() {
	s.forData()
	s.text(&s.options.listen, "listen", "FOOTFALL_LISTEN", "127.0.0.1:8090", "`address` to listen on: 127.0.0.1:PORT for this machine only, :PORT for all interfaces")
	s.text(&s.options.publicURL, "public-url", "FOOTFALL_PUBLIC_URL", "", "`URL` at which browsers reach the service; by default http:// and the address")
	s.text(&s.proxies, "trusted-proxies", "FOOTFALL_TRUSTED_PROXIES", "", "`addresses` or networks of your proxies, separated by commas, such as 127.0.0.1 or\n10.0.0.0/8. Their X-Forwarded-For header is trusted. If a proxy is not listed, all\nvisitors behind it count as one. nginx sends it with\nproxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")
	s.text(&s.retention, "retention", "FOOTFALL_RETENTION", "", "`duration` to keep events, such as 90d; by default forever")
	s.text(&s.keyRate, "key-rate", "FOOTFALL_KEY_RATE", "", "maximum `number` of events per second for each API key, -1 for no limit;\nby default 50000")
	s.text(&s.conns, "max-connections", "FOOTFALL_MAX_CONNECTIONS", "", "maximum `number` of connections; by default 4000. Above it the connection is closed that\nhas waited the longest for its client to send a request or to read an answer")
	s.text(&s.window, "idempotency-window", "FOOTFALL_IDEMPOTENCY_WINDOW", "", "`duration` to remember Idempotency-Keys, from 1m to 30d; by default 24h. Events that\nrepeat a remembered key count once. Each key takes about 110 bytes on disk")
	s.text(&s.options.metrics, "metrics", "FOOTFALL_METRICS", "", "`address` of a second listener that serves metrics for Prometheus at /metrics, to anyone\nwho reaches it, such as 127.0.0.1:9090; by default none")
}

// finish returns the options after the command line was parsed.
func (s *settings) finish() (options, error) {
	o := s.options
	var problems [8]error
	o.proxies, problems[0] = parseProxies(s.proxies)
	o.retention, problems[1] = parseRetention(s.retention)
	o.keyRate, problems[2] = parseRate(s.keyRate)
	o.window, problems[3] = parseWindow(s.window)
	o.conns, problems[4] = parseConnections(s.conns)
	problems[5] = checkURL(o.publicURL)
	problems[6] = checkAddress("-listen or FOOTFALL_LISTEN", o.listen)
	problems[7] = checkAddress("-metrics or FOOTFALL_METRICS", o.metrics)
	if err := errors.Join(problems[:]...); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// about is the text of -help above the options. It has the list of commands in it.
const about = `Footfall-collector is a website analytics service in one process: the Site Analytics
API for servers, a script for browsers, and a dashboard. Its first start prints a
link that sets the password.

Commands, of which each has a -help:
%s
To serve other machines, run it behind a proxy that terminates HTTPS:

  footfall-collector -public-url https://stats.example.com -trusted-proxies 127.0.0.1

The exit status is 0 after success, 1 after a failure, which includes damage that check
finds, 2 if the command line or an environment variable is wrong, and 3 if check finds only
damage that the service repairs by itself.

Options of serve, each with its environment variable, and older spellings of commands:
`

// parseOptions reads the command line, and the environment for options that are not on it.
// For -help and help it writes the help to stdout and returns flag.ErrHelp.
func parseOptions(args []string, env func(string) string, stdout io.Writer) (options, error) {
	s := newSettings(env)
	s.forServe()
	backup := s.String("backup", "", "the command backup: write a copy of all data to this new `file` and exit")
	version := s.Bool("version", false, "the command version: print the version and exit")
	switch err := s.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		s.help(stdout)
		return options{}, err
	case err != nil:
		return options{}, usageError{fmt.Errorf("%w; -help lists the options", err)}
	case s.Arg(0) == "help":
		return parseOptions(slices.Concat(s.Args()[1:], []string{"-help"}), env, stdout)
	case s.NArg() > 0:
		c := find(s.Arg(0))
		if c == nil {
			return options{}, usageError{fmt.Errorf("there is no command %q; -help lists the options and the commands", s.Arg(0))}
		}
		before := args[:len(args)-s.NArg()]
		return c.parse(slices.Concat(before, s.Args()[1:]), env, stdout)
	}
	s.options.command = &commands[0]
	switch {
	case *version:
		s.options.command = find("version")
	case *backup != "":
		s.options.command, s.options.file = find("backup"), *backup
	}
	return s.finish()
}

// help writes the help of the whole program.
func (s *settings) help(out io.Writer) {
	var list strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&list, "  footfall-collector %-14s %s\n", c.name+c.args, c.summary)
	}
	fmt.Fprintf(out, about, list.String())
	s.SetOutput(out)
	s.PrintDefaults()
}

// dataDir returns a directory that does not depend on the working directory, so that every
// start finds the same data. The standard library has no function for a data directory; the
// configuration directory is the closest one that no cleanup deletes.
func dataDir() string {
	if dir, err := os.UserConfigDir(); err == nil {
		return filepath.Join(dir, "footfall")
	}
	return "footfall-data" // no home directory, as in some services
}

func parseProxies(list string) (all []netip.Prefix, err error) {
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if addr, e := netip.ParseAddr(text); e == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("-trusted-proxies or FOOTFALL_TRUSTED_PROXIES: %q is not an IP address or a network such as 10.0.0.0/8", text)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// parseTime is time.ParseDuration with a unit d for days. It returns 0 for an invalid or
// negative time.
func parseTime(text string) time.Duration {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0
		}
		return time.Duration(n) * 24 * time.Hour
	}
	d, _ := time.ParseDuration(text)
	return max(d, 0)
}

func parseRetention(text string) (time.Duration, error) {
	d := parseTime(text)
	if d == 0 && text != "" {
		return 0, fmt.Errorf("-retention or FOOTFALL_RETENTION: %q is not a positive duration such as 90d or 36h", text)
	}
	return d, nil
}

// parseWindow returns 0 for an empty text, to select the default.
func parseWindow(text string) (time.Duration, error) {
	d := parseTime(text)
	if text != "" && (d < store.MinDuplicateFor || d > store.MaxDuplicateFor) {
		return 0, fmt.Errorf("-idempotency-window or FOOTFALL_IDEMPOTENCY_WINDOW: %q is not a duration from 1m to 30d, such as 72h or 7d", text)
	}
	return d, nil
}

// parseConnections returns 0 for an empty text, to select the default.
func parseConnections(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("-max-connections or FOOTFALL_MAX_CONNECTIONS: %q is not a number above zero, such as 4000", text)
	}
	return int(n), nil
}

// parseRate returns 0 for an empty text, to select the default, and -1 for no limit.
func parseRate(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	if rate, err := strconv.ParseFloat(text, 64); err == nil && (rate > 0 || rate == -1) && !math.IsInf(rate, 0) {
		return rate, nil
	}
	return 0, fmt.Errorf("-key-rate or FOOTFALL_KEY_RATE: %q must be a number above zero, such as 200, or -1 for no limit", text)
}
