package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/embedded"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/probes"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

func relayCommand(stdout, stderr io.Writer) *cli.Command {
	flags := append(natsconn.Flags(), natsconn.StreamFlags()...)
	return &cli.Command{
		Name: "relay", Usage: "deliver the events of a NATS stream to the API",
		Description: "Several relays share a stream. On SIGTERM or SIGINT a relay hands back the events that it has not\n" +
			"delivered, prints an account, and exits with status 0 within -stop-timeout and a few seconds. A second\n" +
			"signal ends the wait of -stop-timeout, a third one the process.\n\n" +
			"-embedded DIR runs a NATS server inside the relay, without credentials, for one machine. It keeps the events in DIR.",
		Flags: append(flags,
			shell.Option("rate", "FOOTFALL_RATE", "`EVENTS` a second that this relay takes from the stream, for an API that limits them; retries are not counted; without it no bound"),
			natsconn.ConsumerFlag(),
			shell.Option("ack-wait", "FOOTFALL_ACK_WAIT", "`DURATION` after which NATS gives the events of a relay that was killed to another one; without it 30s"),
			shell.Option("max-held", "FOOTFALL_MAX_HELD", "`NUMBER` of events in the memory of this relay; without it 1024"),
			shell.Option("max-ack-pending", "FOOTFALL_MAX_ACK_PENDING", "`NUMBER` of events that all relays together have taken and not acknowledged; without it 65536. Give all relays the same -consumer, -ack-wait and -max-ack-pending"),
			shell.Option("stop-timeout", "FOOTFALL_STOP_TIMEOUT", "`DURATION` to wait for the API's answers when the relay stops; without it 5s"),
			shell.Option("metrics", "FOOTFALL_METRICS", "`ADDRESS` of a listener with /metrics for Prometheus, /readyz and /livez, such as 127.0.0.1:9091; without it none"),
			shell.Option("embedded", "FOOTFALL_EMBEDDED", "`DIR` of a NATS server inside the relay, in place of -nats"),
			shell.Option("embedded-listen", "FOOTFALL_EMBEDDED_LISTEN", "`ADDRESS` of that server; without it 127.0.0.1:4222"),
			shell.JSONFlag(),
		),
		Before: shell.NoArguments,
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
	servers  *natsconn.Servers
	stream   stream.Config
	relay    stream.RelayConfig
	metrics  string // address; empty for none
	embedded embedded.Options
	json     bool
}

// relayOptionsOf reads and checks all settings, without a connection.
func relayOptionsOf(c *cli.Command) (relayOptions, error) {
	v := shell.Read(c)
	o := relayOptions{
		api: footfall.ConfigFromEnv(), servers: natsconn.Read(v), stream: natsconn.ReadStream(v), json: c.Bool("json"),
		relay: stream.RelayConfig{
			Consumer: natsconn.ReadConsumer(v), AckWait: v.Duration("ack-wait", false),
			MaxHeld: v.Number("max-held", "a number above zero"), MaxAckPending: v.Number("max-ack-pending", "a number above zero"),
			Rate: v.Rate("rate"), StopTimeout: v.Duration("stop-timeout", false),
		},
		metrics:  v.Address("metrics", "127.0.0.1:9091"),
		embedded: embeddedOptions(v),
	}
	if o.embedded.Dir == "" {
		o.servers.Require(v, ", or set -embedded DIR")
	} else {
		o.stream.Replicas = 1
	}
	if o.api.Disabled {
		v.Problem("FOOTFALL_DISABLED: true: unset it, or do not run the relay")
	}
	return o, errors.Join(v.Err(), shell.CheckConfig(o.api))
}

// embeddedOptions reads the flags of the server inside the relay.
func embeddedOptions(v *shell.Values) embedded.Options {
	o := embedded.Options{Dir: v.String("embedded"), Address: v.Address("embedded-listen", "127.0.0.1:4222")}
	if o.Dir == "" {
		if o.Address != "" {
			v.Wrong("embedded-listen", "needs "+v.Label("embedded"))
		}
		return o
	}
	for _, name := range []string{"nats", "creds", "tlsca", "tlscert", "tlskey"} {
		if v.String(name) != "" {
			v.Problem("%s: cannot be combined with %s, whose server has no other address and no credentials: set only one of them", v.Label(name), v.Label("embedded"))
		}
	}
	if os.Getenv(natsconn.UserVariable) != "" {
		v.Problem("%s: cannot be combined with %s, whose server has no users: set only one of them", natsconn.UserVariable, v.Label("embedded"))
	}
	if text := v.String("replicas"); text != "" && text != "1" {
		v.Wrong("replicas", "is not 1: the embedded server keeps one replica; omit it")
	}
	return o
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
	p := probes.New(ctx, log)
	if o.metrics != "" {
		at, stop, err := p.Serve(o.metrics)
		if err != nil {
			return err
		}
		defer stop()
		say("Metrics: http://%s/metrics", at)
	}
	if o.embedded.Dir != "" {
		url, stop, err := embedded.Start(o.embedded, log)
		if err != nil {
			return err
		}
		defer stop()
		o.servers.URLs = []string{url}
		say("NATS: %s, one server: set stream.Config{URL: %[1]q, Replicas: 1} in programs", o.servers)
	}
	if err := p.CheckAPI(o.api); err != nil {
		return err
	}
	relay, err := stream.NewRelay(o.api, o.servers.Config(o.stream, log), o.relay)
	if err != nil {
		return o.servers.Explain(err)
	}
	p.Started(relay)
	defer onSecondSignal(relay.HandBack)()
	say("The relay takes events from NATS at %s and delivers them to %s", o.servers, o.api.BaseURL)
	if err = relay.Run(ctx); err != nil {
		err = o.servers.Explain(err)
	}
	return errors.Join(err, writeAccount(stdout, relay.Stats(), o.json))
}

// onSecondSignal calls f when the program has been told twice to end, unless stop is called before.
// Without it, a second signal ends the program at once, and its events wait for AckWait. A third one
// does.
func onSecondSignal(f func()) (stop func()) {
	signals, ended := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		for range 2 {
			select {
			case <-signals:
			case <-ended:
				return
			}
		}
		f()
	}()
	return func() { close(ended) }
}

// account says what a relay has done.
type account struct {
	Taken       uint64 `json:"taken"`
	Redelivered uint64 `json:"redelivered"`
	Repeated    uint64 `json:"repeated"`
	Delivered   uint64 `json:"delivered"`
	Rejected    uint64 `json:"rejected"`
	HandedBack  uint64 `json:"handed_back"`
}

func writeAccount(out io.Writer, s stream.Stats, json bool) error {
	a := account{s.Taken, s.Redelivered, s.Repeated, s.Delivered, s.Rejected, s.HandedBack}
	if json {
		return shell.WriteJSON(out, a)
	}
	_, err := fmt.Fprintf(out, "Account: %d taken, of them %d redelivered: %d delivered, %d rejected, %d handed back to the stream, %d repeats of held events.\n",
		a.Taken, a.Redelivered, a.Delivered, a.Rejected, a.HandedBack, a.Repeated)
	return err
}
