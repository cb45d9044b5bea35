// Gqlgen is a small server with gqlgen whose operations become events. They go to a
// stand-in for the Site Analytics API, and the program prints each event as it arrives.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/transport"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
	"github.com/footfall-dev/footfall/examples/gqlgen/graph"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: "mutation AddToCart", Event: "added_to_cart", Status: footfall.Success, Page: footfall.PageReferer},
	{Route: "subscription CartChanged", Event: "cart_watched"},
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
		log.Fatal("gqlgen: ", err)
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
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: shop{}})
	if err := footfallgqlgen.CheckRules(tracker, schema, rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	operations := handler.New(schema)
	operations.AddTransport(transport.SSE{})
	operations.AddTransport(transport.POST{})
	operations.Use(extension.Introspection{})
	mux := http.NewServeMux()
	mux.Handle("POST /query", footfallgqlgen.Middleware(tracker, rules...)(operations))
	server := &http.Server{
		Addr:              address,
		Handler:           tracker.Middleware(footfall.Rule{Route: footfall.AnyRoute})(mux), // other routes and operations
		ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(l net.Listener) context.Context {
			lines.Printf("listening on http://%s: try curl -H 'Content-Type: application/json' -d '{\"query\":\"mutation AddToCart {addToCart(product: \\\"socks\\\")}\"}' http://%[1]s/query", l.Addr())
			return context.Background()
		},
	}
	err = tracker.Run(ctx, server) // until SIGTERM, SIGINT or the end of ctx
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return err
}
