package footfallgrpc

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"

	"github.com/footfall-dev/footfall"
)

// Run serves s on the listener until ctx ends, the process receives SIGINT or SIGTERM, or s fails. Then
// it stops s and closes the tracker: see [footfall.Tracker.Run], which it calls with [Server].
func Run(ctx context.Context, tracker *footfall.Tracker, s *grpc.Server, listener net.Listener) error {
	return tracker.Run(ctx, Server(s, listener))
}

// Server returns a server for [footfall.Tracker.Run], which serves s on the listener. Run stops
// it with GracefulStop, and with Stop when RPCs, such as open streams, are under way after
// Config.ShutdownTimeout.
func Server(s *grpc.Server, listener net.Listener) footfall.Server { return &server{s, listener} }

type server struct {
	grpc     *grpc.Server
	listener net.Listener
}

// ListenAndServe implements footfall.Server.
func (s *server) ListenAndServe() error {
	err := s.grpc.Serve(s.listener)
	if errors.Is(err, grpc.ErrServerStopped) { // before it began
		return nil
	}
	return err
}

// Shutdown implements footfall.Server.
func (s *server) Shutdown(ctx context.Context) error {
	stopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop() // returns after Stop at the latest
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements io.Closer.
func (s *server) Close() error {
	s.grpc.Stop()
	return nil
}
