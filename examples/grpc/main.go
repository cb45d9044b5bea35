// Grpc is a small server with gRPC whose RPCs become events. They go to a stand-in for
// the Site Analytics API, and the program prints each event as it arrives.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgrpc"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: "/shop.v1.CartService/Add", Event: "added_to_cart", Status: footfall.Success},
	{Route: "/shop.v1.CartService/Watch", Event: "cart_watched"},
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` of the server; port 0 takes any free one")
	open := flag.Duration("for", 0, "stop after this `time`, such as 30s; 0 is until Ctrl-C")
	customer := flag.Bool("customer", true, "let a customer come, who puts socks in the cart")
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	if *open > 0 {
		time.AfterFunc(*open, stop)
	}
	if err := run(ctx, *listen, *customer, rules, os.Stdout); err != nil {
		log.Fatal("grpc: ", err)
	}
}

func run(ctx context.Context, address string, customer bool, rules []footfall.Rule, out io.Writer) error {
	lines := log.New(out, "", 0) // takes lines from several goroutines
	api := footfalltest.StartAPI()
	defer api.Close()
	api.OnEvent(func(e footfalltest.Event) { lines.Println(e.Name, e.URL, e.Props) })
	tracker, err := footfall.New(api.Config()) // a real program has footfall.ConfigFromEnv() here
	if err != nil {
		return err
	}
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(footfallgrpc.UnaryServerInterceptor(tracker, rules...)),
		grpc.ChainStreamInterceptor(footfallgrpc.StreamServerInterceptor(tracker, rules...)))
	server.RegisterService(&cartService, nothing{})
	if err := footfallgrpc.CheckRules(tracker, server, rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	lines.Printf("listening on %s for calls of /shop.v1.CartService/Add and Watch", listener.Addr())
	var customers sync.WaitGroup
	if customer {
		customers.Go(func() {
			if err := buy(ctx, listener.Addr().String()); err != nil && ctx.Err() == nil {
				lines.Println("the customer went away: ", err)
			}
		})
	}
	err = footfallgrpc.Run(ctx, tracker, server, listener) // until SIGTERM, SIGINT or the end of ctx
	customers.Wait()
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return err
}
