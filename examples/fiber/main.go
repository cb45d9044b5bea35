// Fiber is a small server with Fiber v3 whose visits become events. They go to a stand-in
// for the Site Analytics API; each is a line as it arrives.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallfiber"
	"github.com/footfall-dev/footfall/footfalltest"
)

var rules = []footfall.Rule{
	{Route: "GET /products/:id", Event: "product_viewed", PathProps: []string{"id"}},
	{Route: "POST /api/checkout", Event: "checkout_completed", Status: footfall.Success},
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
		log.Fatal("fiber: ", err)
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
	if err := footfallfiber.CheckRules(tracker, app, rules...); err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, tracker.Close(ctx))
	}
	defer listener.Close() // Fiber does, unless it is told to stop before it began
	lines.Printf("listening on http://%s: try curl http://%[1]s/products/7", listener.Addr())
	broken := make(chan error, 1)
	go func() { broken <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	ending, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = errors.Join(err, app.ShutdownWithContext(ending), tracker.Close(ending)) // in this order: a closed tracker takes no events
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return err
}

func newApp(tracker *footfall.Tracker, rules []footfall.Rule) *fiber.App {
	app := fiber.New(fiber.Config{ReadTimeout: 5 * time.Second})
	app.Use(recover.New(), footfallfiber.Middleware(tracker, rules...))
	app.Get("/products/:id", func(c fiber.Ctx) error {
		_ = footfallfiber.Track(c, "stock_checked", footfall.P("left", 3)) // what goes wrong is counted and logged
		return c.SendString("product " + c.Params("id") + ", 3 left\n")
	})
	app.Group("/api").Post("/checkout", func(c fiber.Ctx) error { return c.SendStatus(fiber.StatusCreated) })
	return app
}
