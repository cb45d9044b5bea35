package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/internal/connlimit"
)

// starting answers requests until the data is open.
type starting struct {
	listener *net.TCPListener
	server   *http.Server
	ended    chan error
	how      atomic.Pointer[string]
}

// Limits of connections until the data is open. No answer takes long.
const (
	startingConnections = 1000
	startingTimeout     = 5 * time.Second
)

// answer answers requests on listener until stop is called.
func answer(listener *net.TCPListener, log *slog.Logger) *starting {
	limit := connlimit.New(min(startingConnections, connlimit.Files()))
	s := &starting{listener: listener, ended: make(chan error, 1)}
	s.say("the data is being opened")
	s.server = &http.Server{
		Handler:        limit.Handler(collector.Starting(func() string { return *s.how.Load() })),
		ConnState:      limit.ConnState,
		ConnContext:    limit.ConnContext,
		ReadTimeout:    startingTimeout,
		WriteTimeout:   startingTimeout,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() { s.ended <- s.server.Serve(limit.Listen(keptOpen{listener})) }()
	return s
}

func (s *starting) say(how string) { s.how.Store(&how) }

// upgrade notes how far an upgrade of the data is.
func (s *starting) upgrade(done, all int) {
	s.say(fmt.Sprintf("the data is being upgraded, step %d of %d", done+1, all))
}

// stop ends the answers. Then another server can use the listener, which clients may connect to
// meanwhile.
func (s *starting) stop() error {
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(grace) != nil {
		_ = s.server.Close() // its clients send their requests again
	}
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return s.listener.SetDeadline(time.Time{})
}

// keptOpen is a listener whose Close only ends Accept.
type keptOpen struct{ *net.TCPListener }

// Close implements net.Listener.
func (l keptOpen) Close() error { return l.SetDeadline(time.Unix(1, 0)) }
