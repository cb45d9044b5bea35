// Footfall-collector runs a website analytics service: the Site Analytics API, a script
// for browsers, and a dashboard. It stores all data in one SQLite file.
//
//	footfall-collector
//	footfall-collector serve -listen :8090 -public-url https://stats.example.com -trusted-proxies 127.0.0.1
//	footfall-collector backup footfall-backup.db
//	footfall-collector restore footfall-backup.db
//	footfall-collector check
//	footfall-collector version
//
// Without a command it serves. On its first start it prints a link that sets the password. -help, or
// the command help, lists the commands, the options and the environment variables that replace options.
//
// The exit status is 0 after success, 1 after a failure, which includes damage that check finds, 2 if
// the command line or an environment variable is wrong, and 3 if check finds only damage that the
// service repairs by itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/footfall-dev/footfall/collector/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first signal, a second one ends the program at once
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "footfall-collector:", err)
	}
	os.Exit(status(err))
}

// status returns the exit status for the error of run.
func status(err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if _, wrong := errors.AsType[usageError](err); wrong {
		return 2
	}
	if errors.Is(err, sqlite.ErrPrecomputed) {
		return 3
	}
	return 1
}
