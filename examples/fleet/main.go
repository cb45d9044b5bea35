// Fleet starts three NATS servers, five shops, two relays and the collector on this machine. While
// customers buy it kills the leader of the stream, a shop and a relay. At the end it prints
// an account of the events.
//
//	go run ./examples/fleet
//	go run ./examples/fleet -for 60s -traffic 60 -data DIR
//
// It ends with status 1 if an event that was Stored is missing, or an event was counted twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		runRole(os.Args[1], os.Args[2:])
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)   // after the first signal, a second one ends the program at once
	signal.Ignore(syscall.SIGPIPE) // when its output is closed, the fleet ends and removes its files
	ctx, cancel := context.WithCancel(ctx)
	err := run(ctx, os.Args[1:], &output{os.Stdout, cancel})
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// output calls failed after a write fails.
type output struct {
	io.Writer
	failed func()
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if err != nil {
		o.failed()
	}
	return n, err
}

// run returns when all processes have ended.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	opts, err := parseOptions(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	remove, err := opts.prepareDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	f, err := newFleet(opts, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.start(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted before the first customer")
		}
		return err
	}
	return errors.Join(f.serve(ctx), f.report(context.WithoutCancel(ctx)))
}

type options struct {
	open    time.Duration
	traffic int
	dir     string
}

// The limits of -traffic and -for. Servers elect a new leader within some seconds.
const (
	maxTraffic = 600
	minOpen    = 5 * time.Second
)

func parseOptions(args []string, out io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned, and printed once
	flags.DurationVar(&o.open, "for", time.Minute, "let customers in for this `time`")
	flags.IntVar(&o.traffic, "traffic", 60, "customers a second, with five events each")
	flags.StringVar(&o.dir, "data", "", "empty `directory` for data and logs; without it nothing is kept")
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, "Five shops, three NATS servers and two relays, some of which are killed.")
		flags.SetOutput(out)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w (-h lists the flags)", err)
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag (-h lists the flags)", flags.Arg(0))
	case o.traffic < 1 || o.traffic > maxTraffic:
		return o, fmt.Errorf("-traffic must be from 1 to %d customers a second", maxTraffic)
	case o.open < minOpen:
		return o, fmt.Errorf("-for must be at least %s", minOpen)
	}
	return o, nil
}

// prepareDir makes the directory, and returns a function that removes it unless -data names it.
func (o *options) prepareDir() (remove func() error, err error) {
	if o.dir == "" {
		o.dir, err = os.MkdirTemp("", "footfall-fleet-")
		return func() error { return os.RemoveAll(o.dir) }, err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("-data %s is not empty: use another directory, because the events in it would be counted too", o.dir)
	}
	return func() error { return nil }, nil
}
