// Package server is a very fast API in its own process, so that only the client limits the rate.
package server

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// Options configures a server.
type Options struct {
	Core  int           // core of the process, or child.AnyCore
	Delay time.Duration // before each answer, to simulate a distance
}

// Counts are the observations of a server.
type Counts struct {
	Requests    int // answered
	Connections int // accepted
	InFlight    int // maximum since the last call of Counts

	CPU time.Duration // of the server
}

// Server is a running server. Close must be called.
type Server struct {
	URL     string
	process *child.Process
}

const role = "server"

// patience bounds the wait for a child's answer.
const patience = 10 * time.Second

// Start returns when the server accepts connections.
func Start(ctx context.Context, o Options) (*Server, error) {
	p, err := child.Start(ctx, role, o.Core, o)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s := &Server{process: p}
	if err := p.Hear(patience, &s.URL); err != nil {
		p.Stop()
		return nil, fmt.Errorf("server: %w", err)
	}
	return s, nil
}

// Counts returns the server's counts.
func (s *Server) Counts() (c Counts, err error) {
	err = s.process.Ask(patience, &c)
	return c, err
}

// Close ends the server.
func (s *Server) Close() { s.process.Stop() }

func init() { child.Handle(role, serve) }

func serve(o Options, p *child.Parent) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	a := &api{delay: o.Delay}
	go a.accept(l)
	if err := p.Say("http://" + l.Addr().String()); err != nil {
		return err
	}
	for range p.Asks() {
		if err := p.Say(a.counts()); err != nil {
			return err
		}
	}
	return nil
}

// api answers requests.
type api struct {
	delay                 time.Duration
	requests, connections atomic.Int64
	inFlight, peak        atomic.Int64
}

func (a *api) counts() Counts {
	return Counts{
		Requests:    int(a.requests.Load()),
		Connections: int(a.connections.Load()),
		InFlight:    int(a.peak.Swap(a.inFlight.Load())),
		CPU:         child.CPU(),
	}
}

func (a *api) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		a.connections.Add(1)
		go a.converse(c)
	}
}
