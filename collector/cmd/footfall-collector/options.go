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

// options are the settings from the command line and the environment.
type options struct {
	listen    string
	data      string // directory
	publicURL string
	proxies   []netip.Prefix
	retention time.Duration
	keyRate   float64       // 0 for the collector's default
	window    time.Duration // 0 for the collector's default
	backup    string        // file
	restore   string        // file
	version   bool
}

// about is the text above the list of options in -help.
const about = `Footfall-collector is a website analytics service in one process: the Site Analytics
API for servers, a script for browsers, and a dashboard.

  footfall-collector               serve, until Ctrl+C; the first start prints a
                                   link that sets the password
  footfall-collector -backup FILE  write a backup of all data; the service may be running
  footfall-collector restore FILE  put a backup in the place of the data, which is kept
                                   under another name; the service must not be running

To serve other machines, run it behind a proxy that terminates HTTPS:

  footfall-collector -public-url https://stats.example.com -trusted-proxies 127.0.0.1

Options, each with its environment variable:
`

// parseOptions reads the command line, and the environment for options that are not on it.
// For -help it writes the help to stdout and returns flag.ErrHelp.
func parseOptions(args []string, env func(string) string, stdout io.Writer) (options, error) {
	var o options
	var proxies, retention, keyRate, window string
	flags := flag.NewFlagSet("footfall-collector", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	text := func(into *string, name, variable, value, usage string) {
		flags.StringVar(into, name, cmp.Or(env(variable), value), usage+"\n"+variable)
	}
	text(&o.listen, "listen", "FOOTFALL_LISTEN", "127.0.0.1:8090", "`address` to listen on: 127.0.0.1:PORT for this machine only, :PORT for all interfaces")
	text(&o.data, "data", "FOOTFALL_DATA", dataDir(), "`directory` for the data, created if it does not exist")
	text(&o.publicURL, "public-url", "FOOTFALL_PUBLIC_URL", "", "`URL` at which browsers reach the service; by default http:// and the address")
	text(&proxies, "trusted-proxies", "FOOTFALL_TRUSTED_PROXIES", "", "`addresses` or networks of your proxies, separated by commas, such as 127.0.0.1 or\n10.0.0.0/8. Their X-Forwarded-For header is trusted. If a proxy is not listed, all\nvisitors behind it count as one")
	text(&retention, "retention", "FOOTFALL_RETENTION", "", "`duration` to keep events, such as 90d; by default forever")
	text(&keyRate, "key-rate", "FOOTFALL_KEY_RATE", "", "maximum `number` of events per second for each API key, -1 for no limit;\nby default 50000")
	text(&window, "idempotency-window", "FOOTFALL_IDEMPOTENCY_WINDOW", "", "`duration` to remember Idempotency-Keys, from 1m to 30d; by default 24h. Events that\nrepeat a remembered key count once. Each key takes about 110 bytes on disk")
	flags.StringVar(&o.backup, "backup", "", "write a backup to this `file`, which must not exist, and exit")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	err := flags.Parse(args)
	restores := err == nil && flags.Arg(0) == "restore"
	if restores {
		if o.restore, err = parseRestore(flags); errors.Is(err, errNoBackup) {
			return o, err
		}
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		help(flags, stdout)
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w; -help lists the options", err)
	case flags.NArg() > 0 && !restores:
		return o, fmt.Errorf("unexpected argument %q; -help lists the options", flags.Arg(0))
	}
	var problems [4]error
	o.proxies, problems[0] = parseProxies(proxies)
	o.retention, problems[1] = parseRetention(retention)
	o.keyRate, problems[2] = parseRate(keyRate)
	o.window, problems[3] = parseWindow(window)
	return o, errors.Join(problems[:]...)
}

// errNoBackup is returned for restore without a file.
var errNoBackup = errors.New("restore needs the file of a backup: footfall-collector restore FILE")

// parseRestore parses what follows restore: a file, with options before or after it.
func parseRestore(flags *flag.FlagSet) (file string, err error) {
	for args := flags.Args()[1:]; ; args = flags.Args()[1:] {
		if err := flags.Parse(args); err != nil {
			return "", err
		}
		switch {
		case flags.NArg() == 0 && file != "":
			return file, nil
		case flags.NArg() == 0 || file != "":
			return "", errNoBackup
		}
		file = flags.Arg(0)
	}
}

func help(flags *flag.FlagSet, out io.Writer) {
	fmt.Fprint(out, about)
	flags.SetOutput(out)
	flags.PrintDefaults()
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
