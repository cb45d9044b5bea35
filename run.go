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

// Server is served and stopped by [Tracker.Run]. *http.Server implements it; the adapters for
// Fiber and gRPC have a function Server that returns one. To serve TLS or an open listener,
// embed an *http.Server and define another ListenAndServe.
//
// If a Server implements io.Closer, as *http.Server does, Run calls Close to close the
// connections of requests that are not answered in time.
type Server interface {
	// ListenAndServe serves until Shutdown is called, and then returns nil or
	// http.ErrServerClosed. If it cannot continue, it returns another error.
	ListenAndServe() error

	// Shutdown accepts no new requests. It returns when all earlier requests are answered, or
	// with the error of ctx when ctx has ended. It may be called before ListenAndServe, which
	// then returns at once, and after ListenAndServe has returned.
	Shutdown(ctx context.Context) error
}

var _ Server = (*http.Server)(nil)

// Run serves until ctx ends, the process receives SIGINT or SIGTERM, or the server fails. Then
// it stops the server and closes the tracker, each with a separate deadline:
// Config.ShutdownTimeout and Config.CloseTimeout. The tracker still accepts events of requests
// that are answered meanwhile. At the first deadline, Run closes the connections of requests
// that are not answered, such as open streams; their handlers have a second to end before the
// tracker closes. Run does not wait for hijacked connections, such as WebSockets: see
// [http.Server.RegisterOnShutdown].
//
// The error joins the server's error, which wraps context.DeadlineExceeded if requests were cut
// off, and the [*CloseError] of [Tracker.Close] if events were lost. It is nil if neither
// happened.
//
// Once Run has begun to stop the server, a second signal ends the process at once, as by
// default, unless the application handles signals too. A main that passes the context of
// [signal.NotifyContext] should call its stop function with [context.AfterFunc].
//
// A stream that stays open, such as server-sent events, makes Run wait for ShutdownTimeout: end
// it in a function passed to [http.Server.RegisterOnShutdown]. If ListenAndServe panics, Run
// panics with the same value once the tracker is closed.
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

// RunFunc is [Tracker.Run] for what is no [Server]: a framework that starts and stops its server
// itself, a worker, a consumer of a queue. It calls serve, and closes the tracker once serve has
// returned, so serve returns only when nothing tracks any more. The context of serve ends when ctx
// ends or the process receives SIGINT or SIGTERM; serve then has Config.ShutdownTimeout to return.
// A framework that waits for these signals itself may ignore the context.
//
// The error joins the error of serve and the [*CloseError] of [Tracker.Close]. A serve that returns
// context.Canceled once its context has ended has not failed.
func (t *Tracker) RunFunc(ctx context.Context, serve func(context.Context) error) error {
	inner, stop := context.WithCancel(context.WithoutCancel(orBackground(ctx)))
	defer stop()
	return t.Run(ctx, &funcServer{serve, inner, stop, make(chan struct{})})
}

// funcServer is a Server that is a function.
type funcServer struct {
	serve  func(context.Context) error
	ctx    context.Context // of serve
	stop   context.CancelFunc
	served chan struct{} // closed when serve has returned
}

func (s *funcServer) ListenAndServe() error {
	defer close(s.served)
	err := s.serve(s.ctx)
	if s.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s *funcServer) Shutdown(ctx context.Context) error {
	s.stop()
	select {
	case <-s.served:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Tracker) shutdownTime() time.Duration {
	if t == nil {
		return defaultShutdownTimeout
	}
	return t.shutdownTimeout
}

// serve runs the server until ctx ends, a signal arrives or the server ends, and stops it.
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

// panicError passes a panic of the server to the goroutine of Run.
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

// stopServer shuts down the server and waits for its end. It also shuts down a server that has
// failed, because requests may be in progress.
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

// await returns the result if it arrives before ctx ends, or else the error of ctx.
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

// disconnect closes the remaining connections and gives their handlers time to end. Events of
// the handlers are still accepted.
func disconnect(server Server) {
	closer, ok := server.(io.Closer)
	if !ok {
		return
	}
	_ = closer.Close() // Close may fail because the listeners are closed already
	time.Sleep(time.Second)
}
