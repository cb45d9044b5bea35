// Echo is a small echo v5 server whose visits become events. They go to a stand-in for the
// Site Analytics API, and the program prints each event as it arrives.
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

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallecho"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: "GET /products/:id", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"id"}},
	{Route: "POST /api/checkout", Event: "checkout_completed", Status: footfall.Success},
	{Route: "POST /api/checkout", Event: "checkout_failed", Status: footfall.Failure},
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
		log.Fatal("echo: ", err)
	}
}

func run(ctx context.Context, address string, rules []footfall.Rule, out io.Writer) error {
	lines := log.New(out, "", 0) // takes lines from several goroutines
	api := footfalltest.StartAPI()
	defer api.Close()
	api.OnEvent(func(e footfalltest.Event) { lines.Println(e.Name, e.URL, e.Props) })
	tracker, err := footfall.New(api.Config()) // a real program has footfall.ConfigFromEnv() here
	router := newRouter(tracker, rules)
	if err = errors.Join(err, footfallecho.CheckRules(tracker, router, rules...)); err != nil {
		return errors.Join(err, tracker.Close(ctx)) // no start with rules that never apply
	}
	server := &http.Server{
		Addr:              address,
		Handler:           router,
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

func newRouter(tracker *footfall.Tracker, rules []footfall.Rule) *echo.Echo {
	e := echo.New()
	e.Use(footfallecho.Middleware(tracker, rules...), middleware.Recover()) // the middleware first: it sees every status
	e.GET("/products/:id", func(c *echo.Context) error {
		_ = footfallecho.Track(c, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
		return c.String(http.StatusOK, "product "+c.Param("id")+", 3 left\n")
	})
	e.GET("/stock", func(c *echo.Context) error { // a stream that is open until the client leaves
		err := c.Blob(http.StatusOK, "text/event-stream", []byte("data: 3 left\n\n"))
		_ = http.NewResponseController(c.Response()).Flush() // the client may be gone
		<-c.Request().Context().Done()
		return err
	})
	e.Group("/api").POST("/checkout", func(c *echo.Context) error {
		if c.QueryParam("card") == "declined" {
			return echo.NewHTTPError(http.StatusPaymentRequired, "the card is declined") // echo answers, then the event is made
		}
		return c.String(http.StatusCreated, "thank you\n")
	})
	return e
}
