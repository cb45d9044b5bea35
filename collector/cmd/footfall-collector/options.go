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
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// options are what the command line and the environment say.
type options struct {
	listen    string
	data      string // directory
	publicURL string
	proxies   []netip.Prefix
	retention time.Duration
	keyRate   float64       // 0 for the collector's default
	window    time.Duration // 0 for the collector's default
	backup    string        // file
	version   bool
}

// about heads the help. What a new user wants first is what to type, and what happens.
const about = `Footfall-collector is a website analytics service in one process: the Site Analytics
API for servers, a script for browsers, and a dashboard.

  footfall-collector               serve, until Ctrl+C; the first start prints a
                                   link with which you choose the password
  footfall-collector -backup FILE  write a copy of all data, also while it serves

For visitors from elsewhere put a proxy that speaks HTTPS before it:

  footfall-collector -public-url https://stats.example.com -trusted-proxies 127.0.0.1

Options, with the environment variables that stand in for them:
`

// parseOptions reads the command line; what is not there is taken from the environment.
// If it is help that was asked for, it is written to stdout, and the error is
// flag.ErrHelp.
func parseOptions(args []string, env func(string) string, stdout io.Writer) (options, error) {
	var o options
	var proxies, retention, keyRate, window string
	flags := flag.NewFlagSet("footfall-collector", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	text := func(into *string, name, variable, value, usage string) {
		flags.StringVar(into, name, cmp.Or(env(variable), value), usage+"\n"+variable)
	}
	text(&o.listen, "listen", "FOOTFALL_LISTEN", "127.0.0.1:8090", "`address` to serve on: 127.0.0.1:PORT for this machine alone, :PORT for others too")
	text(&o.data, "data", "FOOTFALL_DATA", dataDir(), "`directory` that everything is kept in, made if there is none")
	text(&o.publicURL, "public-url", "FOOTFALL_PUBLIC_URL", "", "`URL` that browsers find this at; by default http:// and the address")
	text(&proxies, "trusted-proxies", "FOOTFALL_TRUSTED_PROXIES", "", "`addresses` of your proxies, or networks such as 10.0.0.0/8, with commas: their\nX-Forwarded-For is believed. Without, all visitors behind a proxy count as one")
	text(&retention, "retention", "FOOTFALL_RETENTION", "", "`time` to keep events for, such as 90d; by default for ever")
	text(&keyRate, "key-rate", "FOOTFALL_KEY_RATE", "", "`number` of events a second that one API key may send, -1 for any number;\nby default 50000")
	text(&window, "idempotency-window", "FOOTFALL_IDEMPOTENCY_WINDOW", "", "`time` for which an event that is sent again with its Idempotency-Key counts once,\nfrom 1m to 30d; by default 24h. A key takes about 110 bytes of disk for as long")
	flags.StringVar(&o.backup, "backup", "", "new `file` to write a backup to")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		help(flags, stdout)
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w; -help lists the options", err)
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; -help lists the options", flags.Arg(0))
	}
	var problems [4]error
	o.proxies, problems[0] = parseProxies(proxies)
	o.retention, problems[1] = parseRetention(retention)
	o.keyRate, problems[2] = parseRate(keyRate)
	o.window, problems[3] = parseWindow(window)
	return o, errors.Join(problems[:]...)
}

func help(flags *flag.FlagSet, out io.Writer) {
	fmt.Fprint(out, about)
	flags.SetOutput(out)
	flags.PrintDefaults()
}

// dataDir is the same wherever the command is started from: a relative one would show
// an empty account to somebody who is in another directory the next time. Go knows no
// directory for data; of those it knows this is the one that nothing cleans up.
func dataDir() string {
	if dir, err := os.UserConfigDir(); err == nil {
		return filepath.Join(dir, "footfall")
	}
	return "footfall-data" // a service without a home
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
			return nil, fmt.Errorf("-trusted-proxies or FOOTFALL_TRUSTED_PROXIES: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// parseTime knows days beside what time.ParseDuration knows. It returns 0 for what is no
// time above zero.
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
		return 0, fmt.Errorf("-retention or FOOTFALL_RETENTION: %q is not a time such as 90d or 36h", text)
	}
	return d, nil
}

// parseWindow returns 0 for the default.
func parseWindow(text string) (time.Duration, error) {
	d := parseTime(text)
	if text != "" && (d < store.MinDuplicateFor || d > store.MaxDuplicateFor) {
		return 0, fmt.Errorf("-idempotency-window or FOOTFALL_IDEMPOTENCY_WINDOW: %q is not a time from 1m to 30d, such as 72h or 7d", text)
	}
	return d, nil
}

// parseRate returns 0 for the default, and what is below it for no limit.
func parseRate(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	if rate, err := strconv.ParseFloat(text, 64); err == nil && (rate > 0 || rate == -1) && !math.IsInf(rate, 0) {
		return rate, nil
	}
	return 0, fmt.Errorf("-key-rate or FOOTFALL_KEY_RATE: %q is neither a number above zero, such as 200, nor -1", text)
}
