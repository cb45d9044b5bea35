package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

func doctorCommand(out io.Writer) *cli.Command {
	flags := []cli.Flag{
		&cli.BoolFlag{Name: "send", Usage: "also send an event, footfall_doctor, which counts in the dashboard"},
		&cli.StringFlag{Name: "url", Usage: "a `PAGE`: say which segments of its path a middleware replaces; also the page of the event of -send, which is FOOTFALL_DEFAULT_URL or the site's domain without it"},
		&cli.StringFlag{Name: "route", Usage: "the `PATTERN` of the route of that page, such as /products/{slug}"},
		monitorFlag(),
		shell.JSONFlag(),
	}
	return &cli.Command{
		Name: "doctor", Usage: "check settings, network, key and site, and NATS if it is set, and say what to do",
		Flags:  slices.Concat(flags, natsconn.Flags(), natsconn.StreamFlags(), []cli.Flag{natsconn.ConsumerFlag()}),
		Before: shell.NoArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			v := shell.Read(c)
			x := &doctor.Exam{Config: footfall.ConfigFromEnv(), Send: c.Bool("send"), Page: c.String("url"), Route: c.String("route"),
				NATS: doctor.NATSExam{Servers: natsconn.Read(v), Stream: natsconn.ReadStream(v), Consumer: natsconn.ReadConsumer(v), Monitors: monitors(v)}}
			if err := v.Err(); err != nil {
				return err
			}
			x.NATS.Settings = natsSettings(v, &x.NATS)
			r := x.Run(ctx)
			write := r.Write
			if c.Bool("json") {
				write = func(out io.Writer) error { return shell.WriteJSON(out, r) }
			}
			if err := write(out); err != nil {
				return err
			}
			switch {
			case r.WrongSettings:
				return shell.UsageError("%w", shell.ErrReported)
			case !r.OK:
				return shell.ErrReported
			}
			return nil
		},
	}
}

func monitorFlag() cli.Flag {
	return shell.Option("nats-monitor", "FOOTFALL_NATS_MONITOR", "the `URLS` of the monitoring ports of the NATS servers, separated by commas, such as http://nats-1:8222")
}

// monitors reads the URLs of the monitoring ports.
func monitors(v *shell.Values) (urls []string) {
	for text := range strings.SplitSeq(v.String("nats-monitor"), ",") {
		text = strings.TrimRight(strings.TrimSpace(text), "/")
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			v.Wrong("nats-monitor", "is not a list of URLs such as http://nats-1:8222")
			return nil
		}
		urls = append(urls, text)
	}
	return urls
}

// natsSettings reports the settings of NATS that are set, and where they came from.
func natsSettings(v *shell.Values, x *doctor.NATSExam) (list []doctor.Finding) {
	add := func(name, value, source string) {
		list = append(list, doctor.Finding{Check: name, Level: doctor.Good, Found: value + " (from the " + source + ")"})
	}
	shown := map[string]string{"nats": x.Servers.String(), "nats-monitor": shell.ShownURLs(x.Monitors)}
	for _, f := range slices.Concat(natsconn.Flags(), natsconn.StreamFlags(), []cli.Flag{natsconn.ConsumerFlag(), monitorFlag()}) {
		name, variable := f.Names()[0], f.(cli.DocGenerationFlag).GetEnvVars()[0]
		value := v.String(name)
		switch value {
		case "":
		case os.Getenv(variable):
			add(variable, cmp.Or(shown[name], value), "environment")
		default:
			add("-"+name, cmp.Or(shown[name], value), "command line")
		}
	}
	if user := os.Getenv(natsconn.UserVariable); user != "" {
		add(natsconn.UserVariable, user, "environment")
		add(natsconn.PasswordVariable, fmt.Sprintf("set, %d characters", len(os.Getenv(natsconn.PasswordVariable))), "environment")
	}
	return list
}
