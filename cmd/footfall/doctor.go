package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
)

// level is the result of a check.
type level string

const (
	good    level = "ok"
	warn    level = "warn"
	bad     level = "fail"
	skipped level = "skip"
)

// finding is the result of one check, a line of the output.
type finding struct {
	Check  string `json:"check"`
	Level  level  `json:"level"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"` // what to do
}

// report collects findings.
type report struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`

	wrongSettings bool
}

func (r *report) add(check string, l level, found, remedy string) {
	r.Findings = append(r.Findings, finding{check, l, found, remedy})
	if l == bad {
		r.OK = false
	}
}

func doctorCommand(out io.Writer, jsonFlag cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check settings, network, key and site, and say what to do",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "send", Usage: "also send an event, footfall_doctor, which counts in the dashboard"},
			&cli.StringFlag{Name: "url", Usage: "the `PAGE` of that event; without it FOOTFALL_DEFAULT_URL, or the site's domain"},
			jsonFlag,
		},
		Before: noArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			r := examine(ctx, footfall.ConfigFromEnv(), c.Bool("send"), c.String("url"))
			write := r.write
			if c.Bool("json") {
				write = func(out io.Writer) error { return writeJSON(out, r) }
			}
			if err := write(out); err != nil {
				return err
			}
			switch {
			case r.wrongSettings:
				return usageError{errReported}
			case !r.OK:
				return errReported
			}
			return nil
		},
	}
}

func (r *report) write(out io.Writer) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(out, "%-4s  %-24s %s\n", f.Level, f.Check, f.Found); err != nil {
			return err
		}
		if f.Remedy != "" {
			if _, err := fmt.Fprintf(out, "      %-24s → %s\n", "", f.Remedy); err != nil {
				return err
			}
		}
	}
	return nil
}

// examine checks everything in the order in which a request needs it. A check whose ground is
// missing is skipped.
func examine(ctx context.Context, cfg footfall.Config, send bool, page string) *report {
	r := &report{OK: true}
	r.settings(cfg)
	if !r.OK {
		r.wrongSettings = true
		r.add("network", skipped, "not checked, because a setting is wrong", "")
		return r
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil { // checkSettings has parsed it
		r.add("network", bad, err.Error(), "")
		return r
	}
	if !r.reach(ctx, base) {
		r.add("API", skipped, "not asked, because there is no connection", "")
		return r
	}
	a := &asked{cfg: cfg, report: r}
	if a.ask(ctx) && a.site() {
		a.send(ctx, send, page)
	}
	return r
}

// address returns the host and the port of a URL.
func address(u *url.URL) (host, port string) {
	host, port = u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return host, port
}

// isName reports whether a host has to be looked up.
func isName(host string) bool { return net.ParseIP(host) == nil }
