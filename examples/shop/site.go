package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/footfall-dev/footfall"
)

// How long the shop waits, when it closes, for requests under way and then for
// events to be delivered. Whoever stops programs (systemd, Kubernetes) must give
// the sum of both before it kills.
const (
	shutdownTime = 10 * time.Second
	drainTime    = 10 * time.Second
)

// site is the shop with its server and its tracker.
type site struct {
	url      string
	listener net.Listener
	server   *http.Server
	tracker  *footfall.Tracker
	script   *script
	log      *slog.Logger
}

// open makes a site, or says why its rules are wrong.
func open(listener net.Listener, tracker *footfall.Tracker, script *script, log *slog.Logger) (*site, error) {
	handler, err := newHandler(tracker, script)
	if err != nil {
		return nil, err
	}
	return &site{
		url:      urlOf(listener.Addr()),
		listener: listener,
		tracker:  tracker,
		script:   script,
		log:      log,
		server: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      10 * time.Second,
			IdleTimeout:       time.Minute,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
	}, nil
}

// newHandler puts the middleware around the shop. A rule that could never make an
// event, for its route is misspelt, refuses the start: in the log it would be
// found when somebody misses the numbers.
//
// The check for forged forms stands before the middleware, so that what it turns
// away is nobody's checkout_failed.
func newHandler(tracker *footfall.Tracker, script *script) (http.Handler, error) {
	mux := newShop(script).routes()
	if err := tracker.CheckRules(mux, rules...); err != nil {
		return nil, err
	}
	tracked := tracker.Middleware(rules...)(mux)
	sameOrigin := http.NewCrossOriginProtection().Handler(tracked)
	return http.MaxBytesHandler(sameOrigin, maxForm), nil
}

// maxForm is more than any form of the shop needs.
const maxForm = 16 << 10

// serve lets customers in until ctx ends, then closes in the order that loses
// nothing: the customers, the server, the tracker.
func (s *site) serve(ctx context.Context, o options, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.open > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.open)
		defer cancel()
	}
	broken := make(chan error, 1)
	go func() { broken <- s.server.Serve(s.listener) }()
	var visits sync.WaitGroup
	if o.traffic > 0 {
		visits.Go(func() { newCustomers(s.url, o.traffic, s.script, s.log).come(ctx) })
	}
	var err error
	select {
	case <-ctx.Done():
		fmt.Fprintln(stdout, "\nclosing: answering the last customers, delivering the last events")
	case err = <-broken: // not http.ErrServerClosed: nobody has closed it yet
		cancel()
	}
	visits.Wait()
	return errors.Join(err, s.close(stdout))
}

// close stops the server before the tracker: requests that are still answered
// make events, and the tracker takes none once it closes. Its own time begins
// when the server's is over, so that a slow request takes nothing away from it.
func (s *site) close(stdout io.Writer) error {
	stopping, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	serverErr := s.server.Shutdown(stopping)
	if serverErr != nil {
		serverErr = fmt.Errorf("some customers were still waiting for an answer: %w", serverErr)
	}

	draining, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	trackerErr := s.tracker.Close(draining)

	fmt.Fprintln(stdout, accountOf(s.tracker.Stats()))
	return errors.Join(serverErr, trackerErr)
}

// listen explains itself in one line: a port in use is the first thing that goes
// wrong with any demonstration.
func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err == nil {
		return listener, nil
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err // without the address and the name of the system call
	} else if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with -listen, such as -listen 127.0.0.1:8081, or of the collector with -collector", address, err)
}

// urlOf returns where a browser on this machine finds the shop.
func urlOf(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
	}
	return "http://" + addr.String()
}
