// Package env reads settings from environment variables. An empty variable counts as not set,
// except by [HasPrefix].
package env

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Reader reads variables, and reports those whose value it cannot read.
type Reader struct {
	Report func(name, reason string)
}

// HasPrefix reports whether the environment has a variable whose name begins with prefix, even an
// empty one.
func HasPrefix(prefix string) bool {
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}
	return false
}

// Text returns the value of a variable for which check returns no reason against it.
func (r Reader) Text(name string, check func(string) (reason string)) string {
	raw := os.Getenv(name)
	if raw == "" {
		return ""
	}
	if reason := check(raw); reason != "" {
		r.Report(name, reason)
		return ""
	}
	return raw
}

// Bool returns the value of a variable, or false if it is not set.
func (r Reader) Bool(name string) bool {
	raw := os.Getenv(name)
	if raw == "" {
		return false
	}
	b, err := strconv.ParseBool(raw)
	if err != nil {
		r.Report(name, strconv.Quote(raw[:min(len(raw), 20)])+" is neither true nor false")
	}
	return b
}

// Prefixes returns the addresses and prefixes of a variable, which commas separate.
func (r Reader) Prefixes(name string) (list []netip.Prefix) {
	for i, raw := range strings.Split(os.Getenv(name), ",") {
		raw = strings.TrimSpace(raw)
		if raw == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(raw)
		if addr, bad := netip.ParseAddr(raw); bad == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			r.Report(name, fmt.Sprintf("entry %d is neither an address nor a prefix such as 10.0.0.0/8", i+1))
			continue
		}
		list = append(list, prefix)
	}
	return list
}
