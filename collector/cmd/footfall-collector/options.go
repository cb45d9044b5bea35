package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// options are what the command line and the environment say.
type options struct {
	listen    string
	data      string // directory
	publicURL string
	proxies   []netip.Prefix
	retention time.Duration
	backup    string // file
	version   bool
}

// parseOptions reads the command line; what is not there is taken from the environment.
func parseOptions(args []string, env func(string) string, stderr io.Writer) (options, error) {
	var o options
	var proxies, retention string
	flags := flag.NewFlagSet("footfall-collector", flag.ContinueOnError)
	flags.SetOutput(stderr)
	text := func(into *string, name, variable, value, usage string) {
		flags.StringVar(into, name, cmp.Or(env(variable), value), usage+" ("+variable+")")
	}
	text(&o.listen, "listen", "FOOTFALL_LISTEN", "127.0.0.1:8090", "`address` to serve on; other machines reach only one that is not loopback")
	text(&o.data, "data", "FOOTFALL_DATA", dataDir(), "`directory` that everything is kept in, made if there is none")
	text(&o.publicURL, "public-url", "FOOTFALL_PUBLIC_URL", "", "`URL` that browsers find this at, such as https://stats.example.com")
	text(&proxies, "trusted-proxies", "FOOTFALL_TRUSTED_PROXIES", "", "`addresses` or networks, with commas, whose X-Forwarded-For is believed")
	text(&retention, "retention", "FOOTFALL_RETENTION", "", "`time` to keep events for, such as 90d; by default for ever")
	flags.StringVar(&o.backup, "backup", "", "write a backup to this new `file` and exit; the collector may run meanwhile")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var problems [2]error
	o.proxies, problems[0] = parseProxies(proxies)
	o.retention, problems[1] = parseRetention(retention)
	return o, errors.Join(problems[:]...)
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
			return nil, fmt.Errorf("-trusted-proxies: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// parseRetention knows days beside what time.ParseDuration knows.
func parseRetention(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("-retention: %q is not a time such as 90d or 36h", text)
}
