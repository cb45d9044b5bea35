package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/stream"
)

func relayCommand(stdout, stderr io.Writer, jsonFlag cli.Flag) *cli.Command {
	flags := append(natsFlags(), streamFlags()...)
	return &cli.Command{
		Name: "relay", Usage: "deliver the events of a NATS stream to the API",
		Description: "Several relays share a stream. On SIGTERM or SIGINT a relay hands back the events that it has not\n" +
			"delivered, prints an account, and exits with status 0 within -stop-timeout and a few seconds.\n\n" +
			"-embedded DIR runs a NATS server inside, on one machine and without credentials. It keeps the events in DIR.",
		Flags: append(flags,
			option("rate", "FOOTFALL_RATE", "`EVENTS` a second that this relay takes from the stream, for an API that limits them; retries are not counted; without it no bound"),
			option("stop-timeout", "FOOTFALL_STOP_TIMEOUT", "`DURATION` to wait for the API's answers when the relay stops; without it 5s"),
			option("metrics", "FOOTFALL_METRICS", "`ADDRESS` of a listener with /metrics for Prometheus, /readyz and /livez, such as 127.0.0.1:9091; without it none"),
			option("embedded", "FOOTFALL_EMBEDDED", "`DIR` of a NATS server inside the relay, in place of -nats"),
			option("embedded-listen", "FOOTFALL_EMBEDDED_LISTEN", "`ADDRESS` of that server; without it 127.0.0.1:4222"),
			jsonFlag,
		),
		Before: noArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			o, err := relayOptionsOf(c)
			if err != nil {
				return err
			}
			return runRelay(ctx, o, stdout, stderr)
		},
	}
}

// relayOptions are the settings of a relay.
type relayOptions struct {
	api      footfall.Config
	servers  *servers
	stream   stream.Config
	relay    stream.RelayConfig
	metrics  string // address; empty for none
	embedded embeddedOptions
	json     bool
}

// relayOptionsOf reads and checks all settings, without a connection.
func relayOptionsOf(c *cli.Command) (relayOptions, error) {
	v := &values{Command: c}
	o := relayOptions{
		api: footfall.ConfigFromEnv(), servers: v.servers(), stream: v.stream(), json: c.Bool("json"),
		relay:    stream.RelayConfig{Rate: v.rate("rate"), StopTimeout: v.duration("stop-timeout", false)},
		metrics:  v.address("metrics", "127.0.0.1:9091"),
		embedded: v.embedded(),
	}
	if o.embedded.dir == "" {
		v.needNATS(o.servers, ", or set -embedded DIR")
	} else {
		o.stream.Replicas = 1
	}
	if o.api.Disabled {
		v.problems = append(v.problems, errors.New("FOOTFALL_DISABLED: true: unset it, or do not run the relay"))
	}
	return o, errors.Join(v.err(), checkSettings(o.api))
}

// runRelay delivers events until ctx ends.
func runRelay(ctx context.Context, o relayOptions, stdout, stderr io.Writer) error {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	say := func(format string, args ...any) { fmt.Fprintf(stdout, format+"\n", args...) }
	if o.json { // stdout has the account alone
		log = slog.New(slog.NewJSONHandler(stderr, nil))
		say = func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }
	}
	o.api.Logger = log
	p := &probes{ctx: ctx, log: log}
	if o.metrics != "" {
		at, stop, err := p.serve(o.metrics)
		if err != nil {
			return err
		}
		defer stop()
		say("Metrics: http://%s/metrics", at)
	}
	if o.embedded.dir != "" {
		stop, err := o.embed(log)
		if err != nil {
			return err
		}
		defer stop()
		say("NATS: %s, one server: set stream.Config{URL: %[1]q, Replicas: 1} in programs", o.servers.shown())
	}
	if err := p.checkAPI(o.api); err != nil {
		return err
	}
	relay, err := stream.NewRelay(o.api, o.servers.config(o.stream, log), o.relay)
	if err != nil {
		return o.servers.explain(err)
	}
	p.relay.Store(relay)
	say("The relay takes events from NATS at %s and delivers them to %s", o.servers.shown(), o.api.BaseURL)
	if err = relay.Run(ctx); err != nil {
		err = o.servers.explain(err)
	}
	return errors.Join(err, writeAccount(stdout, relay.Stats(), o.json))
}

// account says what a relay has done.
type account struct {
	Taken       uint64 `json:"taken"`
	Redelivered uint64 `json:"redelivered"`
	Delivered   uint64 `json:"delivered"`
	Rejected    uint64 `json:"rejected"`
	HandedBack  uint64 `json:"handed_back"`
}

func writeAccount(out io.Writer, s stream.Stats, json bool) error {
	a := account{s.Taken, s.Redelivered, s.Delivered, s.Rejected, s.HandedBack}
	if json {
		return writeJSON(out, a)
	}
	_, err := fmt.Fprintf(out, "Account: %d taken, of them %d redelivered: %d delivered, %d rejected, %d handed back to the stream.\n",
		a.Taken, a.Redelivered, a.Delivered, a.Rejected, a.HandedBack)
	return err
}
