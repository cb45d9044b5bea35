// Connect is a small server with connect whose RPCs become events. They go to a
// stand-in for the Site Analytics API, and the program prints each event as it arrives.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallconnect"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: addProcedure, Event: "added_to_cart", Status: footfall.Success, Page: footfall.PageReferer},
	{Route: watchProcedure, Event: "cart_watched"},
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` of the server; port 0 takes any free one")
	open := flag.Duration("for", 0, "stop after this `time`, such as 30s; 0 is until Ctrl-C")
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	if *open > 0 {
		time.AfterFunc(*open, stop)
	}
	if err := run(ctx, *listen, rules, os.Stdout); err != nil {
		log.Fatal("connect: ", err)
	}
}

func run(ctx context.Context, address string, rules []footfall.Rule, out io.Writer) error {
	lines := log.New(out, "", 0) // takes lines from several goroutines
	api := footfalltest.StartAPI()
	defer api.Close()
	api.OnEvent(func(e footfalltest.Event) { lines.Println(e.Name, e.URL, e.Props) })
	tracker, err := footfall.New(api.Config()) // a real program has footfall.ConfigFromEnv() here
	if err != nil {
		return err
	}
	handlers := cart(connect.WithInterceptors(footfallconnect.Middleware(tracker, rules...)))
	if err := footfallconnect.CheckRules(tracker, slices.Collect(maps.Keys(handlers)), rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	mux := http.NewServeMux()
	for procedure, handler := range handlers {
		mux.Handle(procedure, handler)
	}
	server := &http.Server{
		Addr:              address,
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ConnContext:       footfallconnect.ConnContext,
		Protocols:         new(http.Protocols),
		BaseContext: func(l net.Listener) context.Context {
			lines.Printf("listening on http://%s: try curl -H 'Content-Type: application/json' -d '\"socks\"' http://%[1]s%s", l.Addr(), addProcedure)
			return context.Background()
		},
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // for clients of gRPC
	err = tracker.Run(ctx, server)             // until SIGTERM, SIGINT or the end of ctx
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return err
}
