// Graceful is a server that delivers its events when it is told to stop, as a deploy
// does, and says what it had no time for. It needs FOOTFALL_BASE_URL, FOOTFALL_API_KEY
// and FOOTFALL_SITE_ID.
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
	"os/signal"
	"syscall"
	"time"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:8081", "`address` of the server")
	flag.Parse()

	// SIGTERM is what deploys send, SIGINT is Ctrl-C. Once one has come the next
	// ends the program at once, for whoever does not want to wait.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)

	if err := run(ctx, *listen); err != nil {
		log.Fatal("graceful: ", err)
	}
}

func run(ctx context.Context, address string) error {
	tracker, err := footfall.New(footfall.ConfigFromEnv())
	if err != nil {
		return err // names everything that is missing
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s: try curl -X POST http://%[1]s/signup\n", listener.Addr())

	server := &http.Server{Handler: handler(tracker), ReadHeaderTimeout: 5 * time.Second}
	broken := make(chan error, 1)
	go func() { broken <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	return errors.Join(err, shutDown(server, tracker))
}

func handler(tracker *footfall.Tracker) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /signup", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "welcome\n") // the client may be gone
	})
	return tracker.Middleware(
		footfall.Rule{Route: "POST /signup", Event: "signup_completed", Status: footfall.Success},
	)(mux)
}

// shutDown stops the server first: requests under way still make events, and a
// tracker that is closed takes none. Each step has a deadline of its own, so that
// one slow request does not use up the time for delivering. Together they stay
// below the 30 seconds that Kubernetes, for one, gives before it kills.
func shutDown(server *http.Server, tracker *footfall.Tracker) error {
	answering, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	serverErr := server.Shutdown(answering)

	delivering, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	trackerErr := tracker.Close(delivering)

	account := tracker.Stats()
	fmt.Printf("delivered %d, rejected %d, lost %d\n", account.Delivered, account.Rejected, account.Dropped)
	return errors.Join(serverErr, trackerErr)
}
