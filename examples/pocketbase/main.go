// Pocketbase is a small PocketBase application whose logins become events. They go to a
// stand-in for the Site Analytics API, and the program prints each event as it arrives.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"io"
	"io/fs"
	"log"
	"net"
	"os"
	"time"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// rules have PocketBase's routes as it registers them at an http.ServeMux.
var rules = []footfall.Rule{
	{Route: "POST /api/collections/{collection}/auth-with-password", Event: "logged_in", PathProps: []string{"collection"}, Status: footfall.Success},
	{Route: "GET /_/{path...}", Event: footfall.NoEvent}, // the dashboard of PocketBase
	{Route: "GET /{path...}", Event: footfall.NoEvent},   // static files
	{Route: footfall.AnyRoute},
}

//go:embed public
var public embed.FS

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` of the server; port 0 takes any free one")
	open := flag.Duration("for", 0, "stop after this `time`, such as 30s; 0 is until Ctrl-C")
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	if *open > 0 {
		time.AfterFunc(*open, stop)
	}
	if err := run(ctx, *listen, rules, os.Stdout); err != nil {
		log.Fatal("pocketbase: ", err)
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
	err = tracker.RunFunc(ctx, func(ctx context.Context) error { // until SIGTERM, SIGINT or the end of ctx
		return serve(ctx, address, lines, func(app core.App) { count(app, tracker, rules) })
	})
	if err != nil {
		return err
	}
	lines.Printf("delivered %d, lost %d", tracker.Stats().Delivered, tracker.Stats().Dropped)
	return nil
}

// count wraps the whole handler of PocketBase's server. PocketBase answers errors above the
// middlewares of its router, so a middleware of apis.WrapStdMiddleware would not see
// the status of a failed login. The handler exists when e.Next has returned.
func count(app core.App, tracker *footfall.Tracker, rules []footfall.Rule) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		handler := e.Server.Handler
		e.Server.Handler = tracker.Middleware(rules...)(handler)
		return tracker.CheckRules(handler, rules...)
	})
}

// serve runs PocketBase until ctx ends. A program that calls app.Start needs only the hooks.
func serve(ctx context.Context, address string, lines *log.Logger, hooks func(core.App)) error {
	dir, err := os.MkdirTemp("", "pocketbase")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: dir, HideStartBanner: true})
	app.OnBootstrap().Unbind(pocketbase.ModerncDepsCheckHookId) // the workspace has a newer SQLite
	if err := app.Bootstrap(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, app.ResetBootstrapState())
	}
	defer listener.Close()
	ready := make(chan struct{})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := prepare(e, listener); err != nil {
			return err
		}
		lines.Printf("listening on http://%s: try curl http://%[1]s/api/collections/users/auth-with-password -d identity=jane@example.com -d password=correct-horse", listener.Addr())
		close(ready)
		return nil
	})
	hooks(app)
	served := make(chan error, 1)
	go func() { served <- apis.Serve(app, apis.ServeConfig{HttpAddr: address}) }()
	select {
	case err = <-served:
		return errors.Join(err, app.ResetBootstrapState())
	case <-ready:
	}
	<-ctx.Done()
	err = app.OnTerminate().Trigger(&core.TerminateEvent{App: app}) // stops the server
	return errors.Join(err, <-served, app.ResetBootstrapState())
}

// prepare adds a page and a user to what PocketBase serves.
func prepare(e *core.ServeEvent, listener net.Listener) error {
	e.Listener, e.InstallerFunc = listener, nil // the installer opens a browser
	files, err := fs.Sub(public, "public")
	if err != nil {
		return err
	}
	e.Router.GET("/{path...}", apis.Static(files, false))
	users, err := e.App.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	user := core.NewRecord(users)
	user.SetEmail("jane@example.com")
	user.SetPassword("correct-horse")
	if err := e.App.Save(user); err != nil {
		return err
	}
	return e.Next()
}
