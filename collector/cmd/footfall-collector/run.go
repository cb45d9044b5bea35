package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// closeTimeout is how long requests may take to end after the listener has closed.
const closeTimeout = 10 * time.Second

// run does what the command line says and returns when it is done, or ctx has ended.
func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	opts, err := parseOptions(args, env, stdout)
	if err != nil {
		return err
	}
	if opts.version {
		_, err := fmt.Fprintln(stdout, "footfall-collector", version())
		return err
	}
	file := filepath.Join(opts.data, "footfall.db")
	if opts.backup != "" {
		return sqlite.Backup(ctx, file, opts.backup, collector.DayRecords...)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	st, err := sqlite.Open(ctx, sqlite.Config{File: file, IdempotencyWindow: opts.window, Logger: log})
	if err != nil {
		return err
	}
	err = serve(ctx, &opts, st, log, stdout)
	return errors.Join(err, st.Close()) // last: until now events were taken
}

func serve(ctx context.Context, opts *options, st store.Store, log *slog.Logger, stdout io.Writer) error {
	listener, err := net.Listen("tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("%w; -listen names another address", err)
	}
	defer listener.Close()
	c, err := collector.New(ctx, collector.Config{
		Store:             st,
		PublicURL:         opts.publicURL,
		TrustedProxies:    opts.proxies,
		Retention:         opts.retention,
		KeyRate:           opts.keyRate,
		IdempotencyWindow: opts.window,
		Logger:            log,
	})
	if err != nil {
		return err
	}
	greet(stdout, c, opts, listener.Addr())
	defer takeLeave(ctx, stdout)()
	err = c.Serve(ctx, listener)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, c.Close(ending))
}

// greet prints where to go. The link is a secret: it is for who started this, not for
// the log.
func greet(stdout io.Writer, c *collector.Collector, opts *options, addr net.Addr) {
	base := opts.publicURL
	if base == "" {
		base = "http://" + browsable(addr)
	}
	fmt.Fprintln(stdout, "Footfall is at", base)
	fmt.Fprintln(stdout, "It keeps everything in", opts.data)
	for _, line := range advice(opts, addr) {
		fmt.Fprintln(stdout, line)
	}
	if link := c.SetupURL(); link != "" {
		if opts.publicURL == "" {
			link = base + link
		}
		fmt.Fprintln(stdout, "Set a password with this link, once:", link)
	}
}

// takeLeave says what happens when ctx ends: that nothing seems to happen would be read as
// a command that hangs. What it returns waits until it is said.
func takeLeave(ctx context.Context, stdout io.Writer) (wait func()) {
	said := make(chan struct{})
	say := func() {
		defer close(said)
		fmt.Fprintln(stdout, "It ends when the requests under way are answered; a second Ctrl+C ends it now.")
	}
	stop := context.AfterFunc(ctx, say)
	return func() {
		if stop() && ctx.Err() != nil {
			say() // ctx has ended a moment ago, and serving was over first
		} else if ctx.Err() != nil {
			<-said
		}
	}
}

// advice is what somebody who serves more than his own machine may have missed.
func advice(opts *options, addr net.Addr) (lines []string) {
	secure := strings.HasPrefix(opts.publicURL, "https://")
	tcp, ok := addr.(*net.TCPAddr)
	if ok && !tcp.IP.IsLoopback() && !secure {
		lines = append(lines, "Other machines can reach it, and passwords and keys travel in plain text: -help says how to serve HTTPS.")
	}
	if secure && len(opts.proxies) == 0 {
		lines = append(lines, "It trusts no proxy, so all visitors behind one count as one: see -trusted-proxies in -help.")
	}
	return lines
}

// browsable turns "all addresses" into one that a browser can open.
func browsable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return fmt.Sprintf("localhost:%d", tcp.Port)
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
