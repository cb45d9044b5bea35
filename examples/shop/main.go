// Shop is a small shop whose visits become events. It has real pages, with Footfall's
// middleware and browser script, and the collector with its dashboard in the same process,
// which prints each event as it arrives.
//
//	go run ./examples/shop
//	go run ./examples/shop -history 30d
//	go run ./examples/shop -traffic 60 -for 30s
//
// Everything stays on this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run opens the shop and returns when it has closed: when ctx ends, after -for,
// or after an error.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opts, err := parseOptions(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	listener, err := listen(opts.listen)
	if err != nil {
		return err
	}
	defer listener.Close() // again, if it was served
	served, err := listen(opts.collector)
	if err != nil {
		return err
	}
	defer served.Close()
	stdout = &oneByOne{out: stdout}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	shopURL := urlOf(listener.Addr())
	service, err := openService(ctx, served, opts.data, shopURL, log, newArrivals(stdout, shopURL).print)
	if err != nil {
		return err
	}
	if err := service.fill(ctx, shopURL, opts.history); err != nil {
		return errors.Join(err, service.close(context.WithoutCancel(ctx)))
	}
	site, err := openSite(ctx, listener, service, log)
	if err != nil {
		return errors.Join(err, service.close(ctx))
	}
	greet(stdout, site.url, service.dashboard(), opts)
	err = site.serve(ctx, opts, stdout)
	err = errors.Join(err, service.close(context.WithoutCancel(ctx))) // until then it prints events of browsers
	fmt.Fprintln(stdout, accountOf(site.tracker.Stats(), site.orders.Stats()))
	return err
}

// openSite makes the shop, whose events go to the service.
func openSite(ctx context.Context, listener net.Listener, service *service, log *slog.Logger) (*site, error) {
	cfg := footfall.Config{
		BaseURL: service.url,
		APIKey:  service.key,
		SiteID:  service.site.ID,
		Logger:  log,
	}
	script := &storefront.Script{Service: service.url, Domain: service.site.Domain}
	return open(ctx, listener, cfg, filepath.Join(service.dir, "shop.db"), script, log)
}

type options struct {
	listen    string
	collector string
	data      string
	traffic   int
	history   int // days
	open      time.Duration
}

// maxTraffic keeps a mistyped number from becoming a load test.
const maxTraffic = 6000

func parseOptions(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned, and printed once
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` of the shop; port 0 takes any free one")
	flags.StringVar(&o.collector, "collector", "127.0.0.1:8090", "`address` of the collector and its dashboard")
	flags.StringVar(&o.data, "data", "", "`directory` of the orders and of the collector's data; without it nothing is kept")
	flags.IntVar(&o.traffic, "traffic", 0, "customers a minute that come by themselves")
	flags.DurationVar(&o.open, "for", 0, "close after this `time`, such as 30s; 0 is until Ctrl-C")
	flags.Func("history", "`days` that the dashboard starts with, such as 30d, today included; their events are made up", o.setHistory)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(stdout, "A small shop whose visits become events.")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w (-h lists the flags)", err)
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag (-h lists the flags)", flags.Arg(0))
	case o.traffic < 0 || o.traffic > maxTraffic:
		return o, fmt.Errorf("-traffic must be from 0 to %d customers a minute", maxTraffic)
	case o.open < 0:
		return o, errors.New("-for must not be negative")
	}
	return o, nil
}

func (o *options) setHistory(text string) error {
	days, isDays := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(days)
	if err != nil || !isDays || n < 1 || n > maxHistory {
		return fmt.Errorf("must be from 1d to %dd", maxHistory)
	}
	o.history = n
	return nil
}

// greet prints the addresses and how to stop.
func greet(out io.Writer, shopURL, dashboardURL string, o options) {
	fmt.Fprintf(out, "%s is open at  %s\n", storefront.Name, shopURL)
	fmt.Fprintf(out, "The dashboard is at  %s\n", dashboardURL)
	fmt.Fprintln(out, "Look at a product, put it in the basket, buy it: each step becomes an event, printed\nbelow when the collector has stored it.")
	if o.traffic > 0 {
		fmt.Fprintf(out, "About %d customers a minute come by themselves.\n", o.traffic)
	} else {
		fmt.Fprintln(out, "With -traffic 60, customers come by themselves, about 60 a minute.")
	}
	if o.history == 0 {
		fmt.Fprintln(out, "With -history 30d, the dashboard starts with a past.")
	}
	if o.open > 0 {
		fmt.Fprintf(out, "It closes in %s, or with Ctrl-C.\n\n", o.open)
	} else {
		fmt.Fprint(out, "Ctrl-C closes it.\n\n")
	}
}
