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
	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// site is the shop with its server and its tracker.
type site struct {
	url      string
	listener net.Listener
	server   *http.Server
	tracker  *footfall.Tracker
	orders   *storefront.Orders
	script   *storefront.Script
	log      *slog.Logger

	stdout io.Writer
	busy   sync.WaitGroup     // simulated customers, and the job that settles payments
	leave  context.CancelFunc // ends both
}

// open makes a site whose orders are in a file. It returns an error if a rule is wrong.
func open(ctx context.Context, listener net.Listener, cfg footfall.Config, file string, script *storefront.Script, log *slog.Logger) (*site, error) {
	url := urlOf(listener.Addr())
	cfg.DefaultURL = url + "/payments" // the page of events without a request
	tracker, err := footfall.New(cfg)
	if err != nil {
		return nil, err
	}
	orders, err := storefront.OpenOrders(ctx, file, cfg)
	if err != nil {
		return nil, errors.Join(err, tracker.Close(ctx))
	}
	handler, err := storefront.New(tracker, orders, script)
	if err != nil {
		return nil, errors.Join(err, orders.Close(ctx), tracker.Close(ctx))
	}
	return &site{
		url:      url,
		listener: listener,
		tracker:  tracker,
		orders:   orders,
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

// serve serves customers until ctx ends. Then it stops the customers, the server, the tracker and the orders, in this
// order, so that no event is lost.
func (s *site) serve(ctx context.Context, o options, stdout io.Writer) error {
	if o.open > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.open)
		defer cancel()
	}
	shopping, leave := context.WithCancel(ctx)
	defer leave()
	s.stdout, s.leave = stdout, leave
	s.busy.Go(func() { s.orders.Settle(shopping, s.log) })
	if o.traffic > 0 {
		s.busy.Go(func() { newCustomers(s.url, o.traffic, s.script, s.log).come(shopping) })
	}
	err := s.tracker.Run(ctx, s)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, s.orders.Flush(closing), s.orders.Close(closing))
}

var _ footfall.Server = (*site)(nil)

// ListenAndServe implements footfall.Server.
func (s *site) ListenAndServe() error { return s.server.Serve(s.listener) }

// Shutdown implements footfall.Server.
func (s *site) Shutdown(ctx context.Context) error {
	fmt.Fprintln(s.stdout, "\nclosing: answering the last customers, delivering the last events")
	s.leave()
	s.busy.Wait()
	return s.server.Shutdown(ctx)
}

// Close implements io.Closer.
func (s *site) Close() error { return s.server.Close() }

// listen returns errors of one line: a port in use is the most likely one.
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
