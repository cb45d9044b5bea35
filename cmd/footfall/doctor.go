package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/stream"
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
	flags := []cli.Flag{
		&cli.BoolFlag{Name: "send", Usage: "also send an event, footfall_doctor, which counts in the dashboard"},
		&cli.StringFlag{Name: "url", Usage: "the `PAGE` of that event; without it FOOTFALL_DEFAULT_URL, or the site's domain"},
		monitorFlag(),
		jsonFlag,
	}
	return &cli.Command{
		Name: "doctor", Usage: "check settings, network, key and site, and NATS if it is set, and say what to do",
		Flags:  slices.Concat(flags, natsFlags(), streamFlags()),
		Before: noArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			v := &values{Command: c}
			x := &exam{cfg: footfall.ConfigFromEnv(), send: c.Bool("send"), page: c.String("url"),
				servers: v.servers(), stream: v.stream(), monitors: v.monitors()}
			if err := v.err(); err != nil {
				return err
			}
			x.given = v.natsSettings()
			r := x.run(ctx)
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
		if _, err := fmt.Fprintf(out, "%-4s  %-24s %s\n", f.Level, f.Check, printable(f.Found)); err != nil {
			return err
		}
		if f.Remedy != "" {
			if _, err := fmt.Fprintf(out, "      %-24s → %s\n", "", printable(f.Remedy)); err != nil {
				return err
			}
		}
	}
	return nil
}

// exam is what doctor examines.
type exam struct {
	*report
	cfg      footfall.Config
	send     bool
	page     string    // of the event; may be empty
	servers  *servers  // of NATS; may be none
	given    []finding // the settings of NATS
	stream   stream.Config
	monitors []string // URLs
}

// run checks everything in the order in which a request needs it. A check whose ground is
// missing is skipped.
func (x *exam) run(ctx context.Context) *report {
	viaNATS := len(x.servers.urls) > 0
	u := useOf(x.cfg, viaNATS)
	x.report = &report{OK: true}
	x.settings(x.cfg, u)
	if !x.OK {
		x.wrongSettings = true
		x.add("network", skipped, "not checked, because a setting is wrong", "")
		return x.report
	}
	if u != publishes {
		x.api(ctx)
	} else if x.send {
		x.add("event", bad, "none sent, because there is no API to send it to", "-send asks the API: set FOOTFALL_BASE_URL and FOOTFALL_API_KEY, or omit -send")
	}
	if viaNATS {
		x.nats(ctx)
	}
	return x.report
}

// api checks the API.
func (x *exam) api(ctx context.Context) {
	base, err := url.Parse(x.cfg.BaseURL)
	if err != nil { // checkSettings has parsed it
		x.add("network", bad, err.Error(), "")
		return
	}
	if !x.reach(ctx, base) {
		x.add("API", skipped, "not asked, because there is no connection", "")
		return
	}
	a := &asked{cfg: x.cfg, report: x.report}
	if a.ask(ctx) && (x.cfg.SiteID == "" || a.site()) {
		a.send(ctx, x.send, x.page)
	}
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
