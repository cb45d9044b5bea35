// Connect is a small server with connect whose RPCs become events. They go to a
// stand-in for the Site Analytics API; each is a line as it arrives.
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
	"os/signal"
	"slices"
	"syscall"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on a second signal ends the program at once
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
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	lines.Printf("listening on http://%s: try curl -H 'Content-Type: application/json' -d '\"socks\"' http://%[1]s%s", listener.Addr(), addProcedure)
	mux := http.NewServeMux()
	for procedure, handler := range handlers {
		mux.Handle(procedure, handler)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ConnContext: footfallconnect.ConnContext, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // for clients of gRPC
	broken := make(chan error, 1)
	go func() { broken <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	ending, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(ending), tracker.Close(ending)) // in this order: a closed tracker takes no events
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return err
}
