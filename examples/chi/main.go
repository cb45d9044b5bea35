// Chi is a small server with chi whose visits become events. They go to a stand-in for
// the Site Analytics API, and the program prints each event as it arrives.
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

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: "GET /products/{id}", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"id"}},
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
		log.Fatal("chi: ", err)
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
	if err := footfallchi.CheckRules(tracker, router, rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	server := &http.Server{
		Addr:              address,
		Handler:           footfallchi.Middleware(tracker, rules...)(router),
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

func newRouter() *chi.Mux {
	router := chi.NewRouter()
	router.Use(middleware.Recoverer)
	router.Get("/products/{id}", func(w http.ResponseWriter, r *http.Request) {
		_ = footfallchi.Track(r, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
		fmt.Fprintf(w, "product %s, 3 left\n", chi.URLParam(r, "id"))
	})
	router.Get("/stock", func(w http.ResponseWriter, r *http.Request) { // a stream that is open until the client leaves
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 3 left\n\n")
		_ = http.NewResponseController(w).Flush() // the client may be gone
		<-r.Context().Done()
	})
	router.Route("/api", func(r chi.Router) {
		r.Post("/checkout", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	})
	return router
}
