// Gorillamux is a small server with gorilla/mux whose visits become events. They go to a
// stand-in for the Site Analytics API, and the program prints each event as it arrives.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gorilla/mux"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallmux"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: "GET /products/{id:[0-9]+}", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"id"}},
	{Route: "POST /api/checkout", Event: "checkout_completed", Status: footfall.Success},
	{Route: "GET /stock", Event: "stock_watched"},
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
		log.Fatal("gorillamux: ", err)
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
	router := newRouter()
	if err := footfallmux.CheckRules(tracker, router, rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	server := &http.Server{
		Addr:              address,
		Handler:           footfallmux.Wrap(tracker, router, rules...),
		ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(l net.Listener) context.Context {
			lines.Printf("listening on http://%s: try curl http://%[1]s/products/7", l.Addr())
			return context.Background()
		},
	}
	err = tracker.Run(ctx, server) // until SIGTERM, SIGINT or the end of ctx
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return err
}

func newRouter() *mux.Router {
	router := mux.NewRouter()
	router.HandleFunc("/products/{id:[0-9]+}", func(w http.ResponseWriter, r *http.Request) {
		_ = footfallmux.Track(r, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
		fmt.Fprintf(w, "product %s, 3 left\n", mux.Vars(r)["id"])
	}).Methods("GET")
	router.HandleFunc("/stock", func(w http.ResponseWriter, r *http.Request) { // a stream that is open until the client leaves
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 3 left\n\n")
		_ = http.NewResponseController(w).Flush() // the client may be gone
		<-r.Context().Done()
	}).Methods("GET")
	api := router.PathPrefix("/api").Subrouter()
	api.HandleFunc("/checkout", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }).Methods("POST")
	return router
}
