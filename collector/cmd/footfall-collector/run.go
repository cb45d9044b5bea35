package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/internal/metrics"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// closeTimeout bounds the wait for open requests after the listener has closed.
const closeTimeout = 10 * time.Second

// run executes the command line.
func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	opts, err := parseOptions(args, env, stdout)
	if err != nil {
		return err
	}
	return opts.command.run(ctx, &opts, stdout, stderr)
}

// runServe serves until ctx ends. It answers requests from the beginning, because opening the data may
// take long.
func runServe(ctx context.Context, opts *options, stdout, stderr io.Writer) error {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	warnOfMisspelled(log, os.Environ())
	listener, err := net.Listen("tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("%w; choose another address with -listen", err)
	}
	defer listener.Close()
	first := answer(listener.(*net.TCPListener), log)
	cfg := sqlite.Config{File: opts.database(), IdempotencyWindow: opts.window, Logger: log, OnUpgrade: first.upgrade}
	var m *metrics.Metrics
	if opts.metrics != "" {
		m = metrics.New(cfg.File, version())
		cfg.OnCommit = m.ObserveCommit
	}
	st, err := sqlite.Open(ctx, cfg)
	if err != nil {
		return errors.Join(err, first.stop())
	}
	var used store.Store = st
	var onAnswer func(string, int, time.Duration)
	if m != nil {
		used, onAnswer = m.Store(st), m.ObserveAnswer
	}
	c, err := collector.New(ctx, collector.Config{
		Store:          used,
		PublicURL:      opts.publicURL,
		TrustedProxies: opts.proxies,
		Retention:      opts.retention,
		KeyRate:        opts.keyRate,
		MaxConnections: opts.conns,
		OnAnswer:       onAnswer,
		Logger:         log,
	})
	if err = errors.Join(err, first.stop()); err == nil {
		err = serve(ctx, opts, c, m, listener, log, stdout)
	}
	if c != nil {
		err = errors.Join(err, closeCollector(ctx, c))
	}
	return errors.Join(err, st.Close()) // close the store last: requests may use it until here
}

// serve serves until ctx ends. m may be nil.
func serve(ctx context.Context, opts *options, c *collector.Collector, m *metrics.Metrics, listener net.Listener, log *slog.Logger, stdout io.Writer) (err error) {
	if m != nil {
		m.Watch(c)
		addr, stop, failed := serveMetrics(opts.metrics, m, log)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, stop()) }()
		fmt.Fprintf(stdout, "Metrics: http://%s/metrics\n", browsable(addr))
	}
	greet(stdout, c, opts, listener.Addr())
	defer takeLeave(ctx, stdout)()
	return c.Serve(ctx, listener)
}

func closeCollector(ctx context.Context, c *collector.Collector) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return c.Close(ending)
}

// greet prints the address and the setup link. The link is a secret, so it goes to stdout
// and not to the log.
func greet(stdout io.Writer, c *collector.Collector, opts *options, addr net.Addr) {
	base := opts.publicURL
	if base == "" {
		base = "http://" + browsable(addr)
	}
	fmt.Fprintln(stdout, "Footfall serves", base)
	fmt.Fprintln(stdout, "Data directory:", opts.data)
	for _, line := range advice(opts, addr) {
		fmt.Fprintln(stdout, line)
	}
	if link := c.SetupURL(); link != "" {
		if opts.publicURL == "" {
			link = base + link
		}
		fmt.Fprintln(stdout, "To set the password, open this link:", link)
	}
}

// takeLeave prints a line when ctx ends, because open requests can delay the exit. The
// returned function waits until the line is printed.
func takeLeave(ctx context.Context, stdout io.Writer) (wait func()) {
	said := make(chan struct{})
	say := func() {
		defer close(said)
		fmt.Fprintln(stdout, "Shutting down after open requests finish; a second signal, such as Ctrl+C, stops it now.")
	}
	stop := context.AfterFunc(ctx, say)
	return func() {
		if stop() && ctx.Err() != nil {
			say() // ctx ended just now, and Serve returned before say ran
		} else if ctx.Err() != nil {
			<-said
		}
	}
}

// advice returns warnings about an insecure or incomplete setup for other machines.
func advice(opts *options, addr net.Addr) (lines []string) {
	secure := strings.HasPrefix(opts.publicURL, "https://")
	tcp, ok := addr.(*net.TCPAddr)
	if ok && !tcp.IP.IsLoopback() && !secure {
		lines = append(lines, "Other machines can reach this service, but passwords and keys are sent in plain text: see -help for HTTPS.")
	}
	if secure && len(opts.proxies) == 0 {
		lines = append(lines, "No proxy is trusted, so all visitors behind a proxy count as one: see -trusted-proxies in -help.")
	}
	return lines
}

// browsable returns an address that a browser can open, also if addr is all interfaces.
func browsable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return fmt.Sprintf("localhost:%d", tcp.Port)
}

// built is the version of a program that was built from a folder. The linker sets it.
var built string

func version() string {
	if built != "" {
		return built
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
