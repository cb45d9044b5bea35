package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"
)

// option returns a flag whose default is the value of an environment variable.
func option(name, variable, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, Sources: cli.EnvVars(variable)}
}

// values reads the flags of a command that are made by option, and collects problems. An empty
// value counts as not set.
type values struct {
	*cli.Command
	problems []error
}

// err joins the problems.
func (v *values) err() error {
	if err := errors.Join(v.problems...); err != nil {
		return usageError{err}
	}
	return nil
}

// report notes that the value of a flag is wrong. reason follows the value.
func (v *values) report(name, reason string) {
	v.problems = append(v.problems, fmt.Errorf("%s: %q %s", v.both(name), v.String(name), reason))
}

// both returns the name of a flag and of its environment variable.
func (v *values) both(name string) string {
	for _, f := range v.Flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok && f.Names()[0] == name && len(doc.GetEnvVars()) > 0 {
			return "-" + name + " or " + doc.GetEnvVars()[0]
		}
	}
	return "-" + name
}

// number returns a whole number, or 0.
func (v *values) number(name, want string) int {
	text := v.String(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		v.report(name, "is not "+want)
		return 0
	}
	return n
}

// rate returns a number of events a second, or 0.
func (v *values) rate(name string) float64 {
	text := v.String(name)
	if text == "" {
		return 0
	}
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || !(r > 0) || math.IsInf(r, 0) {
		v.report(name, "is not a number of events a second above zero, such as 500")
		return 0
	}
	return r
}

// size returns a number of bytes, or 0.
func (v *values) size(name string) int64 {
	text := v.String(name)
	if text == "" {
		return 0
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		v.report(name, "is not a size such as 512MiB or 10GiB")
		return 0
	}
	return int64(n)
}

// duration returns a positive duration, or 0. If endless is set, it returns -1 for "unlimited".
func (v *values) duration(name string, endless bool) time.Duration {
	text := v.String(name)
	switch {
	case text == "":
		return 0
	case text == "unlimited" && endless:
		return -1
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		want := "is not a duration such as 90s or 168h"
		if endless {
			want += ", nor unlimited"
		}
		v.report(name, want)
		return 0
	}
	return d
}

// address returns an address to listen on, or "".
func (v *values) address(name, example string) string {
	text := v.String(name)
	if text == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		v.report(name, "is not an address such as "+example)
		return ""
	}
	return text
}
