// Fiberv2 is a small server with Fiber v2 whose visits become events. They go to a stand-in
// for the Site Analytics API, and the program prints each event as it arrives.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallfiberv2"
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
	ctx, stop := context.WithCancel(context.Background())
	if *open > 0 {
		time.AfterFunc(*open, stop)
	}
	if err := run(ctx, *listen, rules, os.Stdout); err != nil {
		log.Fatal("fiberv2: ", err)
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
	app := newApp(tracker, rules)
	if err := footfallfiberv2.CheckRules(tracker, app, rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	app.Hooks().OnListen(func(at fiber.ListenData) error {
		lines.Printf("listening on http://%s: try curl http://%[1]s/products/7", net.JoinHostPort(at.Host, at.Port))
		return nil
	})
	err = footfallfiberv2.Run(ctx, tracker, app, address) // until SIGTERM, SIGINT or the end of ctx
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return err
}

func newApp(tracker *footfall.Tracker, rules []footfall.Rule) *fiber.App {
	app := fiber.New(fiber.Config{ReadTimeout: 5 * time.Second, DisableStartupMessage: true})
	app.Use(recover.New(), footfallfiberv2.Middleware(tracker, rules...))
	app.Get("/products/:id", func(c *fiber.Ctx) error {
		_ = footfallfiberv2.Track(c, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
		return c.SendString("product " + c.Params("id") + ", 3 left\n")
	})
	app.Get("/stock", func(c *fiber.Ctx) error { // a stream that is open until the client leaves
		c.Set("Content-Type", "text/event-stream")
		c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
			for {
				fmt.Fprint(w, "data: 3 left\n\n")
				if w.Flush() != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		return nil
	})
	app.Group("/api").Post("/checkout", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusCreated) })
	return app
}
