package collector

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/connlimit"
)

// maxHeader bounds the header of a request, in bytes. Headers of browsers are far smaller.
const maxHeader = 32 << 10

// Serve answers requests on listener until ctx ends. Then it stops listening, ends live
// views, and gives other requests Config.ShutdownTimeout to finish. Exports have nine tenths of
// this time. Serve returns nil if these requests finished. Call Close next, then close the Store.
// Serve must be called only once.
func (c *Collector) Serve(ctx context.Context, listener net.Listener) error {
	limit := connlimit.New(min(c.cfg.MaxConnections, connlimit.Files()))
	server := &http.Server{
		Handler:           limit.Handler(c),
		ConnState:         limit.ConnState,
		ConnContext:       limit.ConnContext,
		ReadHeaderTimeout: c.cfg.HeaderTimeout,
		ReadTimeout:       c.cfg.ReadTimeout,
		WriteTimeout:      c.cfg.WriteTimeout,
		IdleTimeout:       c.cfg.IdleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(c.log.Handler(), slog.LevelWarn),
	}
	server.RegisterOnShutdown(c.endLives)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(limit.Listen(listener)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.ShutdownTimeout)
	defer cancel()
	defer time.AfterFunc(c.cfg.ShutdownTimeout-c.cfg.ShutdownTimeout/10, c.endExports).Stop() // a file then says so
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	if stopped := <-ended; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}
