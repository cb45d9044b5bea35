// Footfall-collector serves a website analytics service on its own: the Site Analytics
// API, the script for browsers, and a dashboard. It keeps everything in one file.
//
//	footfall-collector
//	footfall-collector -listen :8090 -public-url https://stats.example.com -trusted-proxies 127.0.0.1
//	footfall-collector -backup footfall-backup.db
//
// On its first start it prints a link that sets the password. -help lists all options;
// each can be set by an environment variable as well.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "footfall-collector:", err)
		os.Exit(1)
	}
}
