// Graceful is a server that delivers its events when a deploy or Ctrl-C stops it, and prints
// how many it had no time for. It needs FOOTFALL_BASE_URL, FOOTFALL_API_KEY
// and FOOTFALL_SITE_ID.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	cfg := footfall.ConfigFromEnv()
	listen := flag.String("listen", "127.0.0.1:8081", "`address` of the server")
	flag.DurationVar(&cfg.ShutdownTimeout, "shutdown-timeout", 10*time.Second, "`time` for requests under way when the server stops")
	flag.DurationVar(&cfg.CloseTimeout, "close-timeout", 10*time.Second, "`time` to deliver the events that are left then")
	flag.Parse()
	if err := run(context.Background(), *listen, cfg); err != nil {
		log.Fatal("graceful: ", err)
	}
}

// run serves until the process receives SIGTERM, which is what deploys send, or SIGINT, which
// is Ctrl-C. A second one ends the process at once.
func run(ctx context.Context, address string, cfg footfall.Config) error {
	tracker, err := footfall.New(cfg)
	if err != nil {
		return err // names everything that is missing
	}
	server := &http.Server{
		Addr:              address,
		Handler:           handler(tracker),
		ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(l net.Listener) context.Context {
			fmt.Printf("listening on http://%s: try curl -X POST http://%[1]s/signup\n", l.Addr())
			return context.Background()
		},
	}
	err = tracker.Run(ctx, announced{server})
	account := tracker.Stats()
	fmt.Printf("delivered %d, rejected %d, lost %d\n", account.Delivered, account.Rejected, account.Dropped)
	return err
}

// announced is a server that prints when it stops.
type announced struct{ *http.Server }

// Shutdown implements footfall.Server.
func (s announced) Shutdown(ctx context.Context) error {
	fmt.Println("stopping")
	return s.Server.Shutdown(ctx)
}

func handler(tracker *footfall.Tracker) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /signup", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "welcome\n") // the client may be gone
	})
	mux.HandleFunc("GET /news", func(w http.ResponseWriter, r *http.Request) { // a stream that is open until the client leaves
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: nothing yet\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	return tracker.Middleware(
		footfall.Rule{Route: "POST /signup", Event: "signup_completed", Status: footfall.Success},
	)(mux)
}
