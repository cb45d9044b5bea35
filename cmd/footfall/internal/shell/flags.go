// Package shell connects the commands with the shell: flags and environment variables, the output,
// the errors and the exit status.
package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"
)

// Option returns a flag whose default is the value of an environment variable.
func Option(name, variable, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, Sources: cli.EnvVars(variable)}
}

// JSONFlag returns the flag that selects JSON.
func JSONFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON, for programs"} }

// Values reads the flags of a command that Option returns, and collects problems. An empty value
// counts as not set.
type Values struct {
	*cli.Command
	problems []error
}

// Read returns the values of a command's flags.
func Read(c *cli.Command) *Values { return &Values{Command: c} }

// Err joins the problems.
func (v *Values) Err() error {
	if err := errors.Join(v.problems...); err != nil {
		return usageError{err}
	}
	return nil
}

// Problem adds a problem.
func (v *Values) Problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Errorf(format, args...))
}

// Wrong adds the problem that the value of a flag is wrong. reason follows the value.
func (v *Values) Wrong(name, reason string) {
	v.Problem("%s: %q %s", v.Label(name), v.String(name), reason)
}

// Label returns the name of a flag and of its environment variable.
func (v *Values) Label(name string) string {
	for _, f := range v.Flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok && f.Names()[0] == name && len(doc.GetEnvVars()) > 0 {
			return "-" + name + " or " + doc.GetEnvVars()[0]
		}
	}
	return "-" + name
}

// Number returns a whole number, or 0.
func (v *Values) Number(name, want string) int {
	return parse(v, name, "is not "+want, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n > 0
	})
}

// Rate returns a number of events a second, or 0.
func (v *Values) Rate(name string) float64 {
	return parse(v, name, "is not a number of events a second above zero, such as 500", func(text string) (float64, bool) {
		r, err := strconv.ParseFloat(text, 64)
		return r, err == nil && r > 0 && !math.IsInf(r, 0)
	})
}

// Size returns a number of bytes, or 0.
func (v *Values) Size(name string) int64 {
	return parse(v, name, "is not a size such as 512MiB or 10GiB", func(text string) (int64, bool) {
		n, err := humanize.ParseBytes(text)
		return int64(n), err == nil && n > 0 && n <= math.MaxInt64
	})
}

// Duration returns a positive duration, or 0. If endless is set, it returns -1 for "unlimited".
func (v *Values) Duration(name string, endless bool) time.Duration {
	reason := "is not a duration such as 90s or 168h"
	if endless {
		reason += ", nor unlimited"
	}
	return parse(v, name, reason, func(text string) (time.Duration, bool) {
		if endless && text == "unlimited" {
			return -1, true
		}
		d, err := time.ParseDuration(text)
		return d, err == nil && d > 0
	})
}

// Address returns an address to listen on, or "".
func (v *Values) Address(name, example string) string {
	return parse(v, name, "is not an address such as "+example, func(text string) (string, bool) {
		_, port, err := net.SplitHostPort(text)
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		return text, err == nil
	})
}

// parse returns the value of a flag, or zero if the flag is not set or f refuses its text.
func parse[T any](v *Values, name, reason string, f func(string) (T, bool)) (zero T) {
	text := v.String(name)
	if text == "" {
		return zero
	}
	value, ok := f(text)
	if !ok {
		v.Wrong(name, reason)
		return zero
	}
	return value
}

// usageError is an error that ends the program with status 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// UsageError returns an error of the command line or of a setting. It ends the program with status 2.
func UsageError(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// WrongUsage is the OnUsageError of each command.
func WrongUsage(_ context.Context, c *cli.Command, err error, _ bool) error {
	return UsageError("%w; %s -help lists the options", err, c.FullName())
}

// NoArguments is the Before of commands that take no arguments. In a completion, the beginning of a
// flag counts as one.
func NoArguments(_ context.Context, c *cli.Command) (context.Context, error) {
	if c.Args().Present() && !completing() {
		return nil, UsageError("%s takes no argument %q", c.FullName(), c.Args().First())
	}
	return nil, nil
}

// NeedsCommand is the Action of a command that only has subcommands. names lists them.
func NeedsCommand(names string) cli.ActionFunc {
	return func(_ context.Context, c *cli.Command) error {
		if c.Args().Present() {
			return UsageError("there is no command %q; %s -help lists the commands", c.Args().First(), c.FullName())
		}
		return UsageError("which command? %s %s", c.FullName(), names)
	}
}
