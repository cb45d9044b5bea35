// Package server is an API that costs next to nothing, in a process of its own: what a
// client reaches against it is the client's own speed.
package server

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// Options say what the server is like.
type Options struct {
	Core  int           // that it is pinned to, or child.AnyCore
	Delay time.Duration // before each answer, as if it were far away
}

// Counts are what the server has seen.
type Counts struct {
	Requests    int // answered
	Connections int // accepted
	InFlight    int // at most, since the last time that counts were read

	CPU time.Duration // that the server has used
}

// Server is a running server. Close must be called.
type Server struct {
	URL     string
	process *child.Process
}

const role = "server"

// patience is how long a child may take to answer.
const patience = 10 * time.Second

// Start returns when the server takes connections.
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

// Counts asks the server.
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
