// Gin is a small gin server whose visits become events. They go to a stand-in for the
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

	"github.com/gin-gonic/gin"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgin"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: "GET /products/:id", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"id"}},
	{Route: "POST /api/checkout", Event: "checkout_completed", Status: footfall.Success},
	{Route: "GET /stock", Event: "stock_watched"},
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` of the server; port 0 takes any free one")
	open := flag.Duration("for", 0, "stop after this `time`, such as 30s; 0 is until Ctrl-C")
	flag.Parse()
	gin.SetMode(gin.ReleaseMode)
	ctx, stop := context.WithCancel(context.Background())
	if *open > 0 {
		time.AfterFunc(*open, stop)
	}
	if err := run(ctx, *listen, rules, os.Stdout); err != nil {
		log.Fatal("gin: ", err)
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
	router := newRouter(tracker, rules)
	if err := footfallgin.CheckRules(tracker, router, rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
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

func newRouter(tracker *footfall.Tracker, rules []footfall.Rule) *gin.Engine {
	router := gin.New()
	router.Use(footfallgin.Middleware(tracker, rules...), gin.Recovery()) // the middleware first: it sees every status
	router.GET("/products/:id", func(c *gin.Context) {
		_ = footfallgin.Track(c, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
		c.String(http.StatusOK, "product %s, 3 left\n", c.Param("id"))
	})
	router.GET("/stock", func(c *gin.Context) { // a stream that is open until the client leaves
		c.Header("Content-Type", "text/event-stream")
		c.String(http.StatusOK, "data: 3 left\n\n")
		c.Writer.Flush()
		<-c.Request.Context().Done()
	})
	router.Group("/api").POST("/checkout", func(c *gin.Context) { c.String(http.StatusCreated, "thank you\n") })
	return router
}
