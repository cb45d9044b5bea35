package footfall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Server is what [Tracker.Run] serves and stops. *http.Server implements it; the adapters for
// Fiber and gRPC have a function Server that makes one. A type that embeds an *http.Server
// and has another ListenAndServe serves TLS, or a listener that is open already.
//
// If a Server implements io.Closer, as *http.Server does, Run calls Close to close the
// connections of requests that are not answered in time.
type Server interface {
	// ListenAndServe serves until Shutdown is called. It returns nil or http.ErrServerClosed
	// then, and any other error if it cannot go on.
	ListenAndServe() error

	// Shutdown accepts no new requests, and returns when all others are answered or ctx has
	// ended, with the error of ctx. It may be called before ListenAndServe, which then
	// returns at once, and after ListenAndServe has returned.
	Shutdown(ctx context.Context) error
}

var _ Server = (*http.Server)(nil)

// Run serves until ctx ends, the process receives SIGINT or SIGTERM, or the server fails.
// Then it stops the server and closes the tracker, each with its own deadline:
// Config.ShutdownTimeout and Config.CloseTimeout. Events of requests that are answered
// meanwhile are accepted. Run closes the connections of requests that are not answered by the
// first deadline, such as open streams; their handlers have a second to end before the tracker
// closes. Hijacked connections, such as WebSockets, are not waited for:
// see [http.Server.RegisterOnShutdown].
//
// The error joins the server's, which wraps context.DeadlineExceeded if requests were cut off,
// and the [*CloseError] of [Tracker.Close] if events were lost. It is nil if there was neither.
//
// Once Run has begun to stop the server, a second signal ends the process at once, as it does
// by default, unless the application has asked for signals, too: a main that passes the
// context of [signal.NotifyContext] calls its stop function with [context.AfterFunc].
//
// A stream that stays open, such as server-sent events, makes Run wait for ShutdownTimeout: end
// it in a function that is given to [http.Server.RegisterOnShutdown]. A panic in
// ListenAndServe becomes one of Run, once the tracker is closed.
//
// A nil or disabled tracker serves and stops the server in the same way. A nil ctx never ends.
func (t *Tracker) Run(ctx context.Context, server Server) error {
	err := serve(orBackground(ctx), server, t.shutdownTime())
	if !t.inactive() {
		closing, cancel := context.WithTimeout(context.Background(), t.closeTimeout)
		defer cancel()
		err = errors.Join(err, t.Close(closing))
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		panic(p.value)
	}
	return err
}

// defaultShutdownTimeout also holds for a nil tracker, which has no Config.
const defaultShutdownTimeout = 10 * time.Second

func (t *Tracker) shutdownTime() time.Duration {
	if t == nil {
		return defaultShutdownTimeout
	}
	return t.shutdownTimeout
}

// serve runs the server until ctx ends, a signal comes or the server ends, and stops it.
func serve(ctx context.Context, server Server, timeout time.Duration) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	served := make(chan error, 1)
	go func() { served <- listenAndServe(server) }()
	select {
	case <-ctx.Done():
	case <-signals:
	case err := <-served:
		served <- err // for stopServer
	}
	signal.Stop(signals)
	return stopServer(server, served, timeout)
}

// panicError is a panic of the server, for the goroutine of Run.
type panicError struct{ value any }

func (e *panicError) Error() string {
	return fmt.Sprintf("footfall: run: panic in ListenAndServe: %v", e.value)
}

func listenAndServe(server Server) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v}
		}
	}()
	return server.ListenAndServe()
}

// stopServer shuts down the server and waits for its end. A server that has failed is shut
// down, too: requests may be under way.
func stopServer(server Server, served <-chan error, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(ctx) }()
	shutdownErr, serveErr := await(ctx, stopped), await(ctx, served)
	if errors.Is(serveErr, http.ErrServerClosed) {
		serveErr = nil
	}
	err := errors.Join(serveErr, shutdownErr)
	if ctx.Err() == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	disconnect(server)
	return fmt.Errorf("footfall: run: the server has not answered all requests in %v (end streams in http.Server.RegisterOnShutdown): %w", timeout, err)
}

// await returns what comes before ctx ends, or else the error of ctx.
func await(ctx context.Context, result <-chan error) error {
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-result: // both were ready
		return err
	default:
		return ctx.Err()
	}
}

// disconnect closes the connections that are left, and lets their handlers end: their events
// are still accepted.
func disconnect(server Server) {
	closer, ok := server.(io.Closer)
	if !ok {
		return
	}
	_ = closer.Close() // an error of listeners, which are closed already
	time.Sleep(time.Second)
}
