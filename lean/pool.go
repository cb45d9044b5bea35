package lean

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/footfall-dev/footfall"
)

// idleTimeout is how long an idle connection is kept, as in the default transport.
const idleTimeout = 90 * time.Second

// pool holds the connections. It opens one only if none is idle, so there are at most as many
// as concurrent requests.
type pool struct {
	dial func(context.Context) (net.Conn, error)

	mu      sync.Mutex
	idle    []*conn            // most recently used last
	open    map[*conn]struct{} // in use or idle
	ended   bool               // by close, or by the end of the context
	ctx     context.Context    // of all attempts; nil before the first
	unwatch func() bool
	sweeper *time.Timer
	due     bool // sweeper runs
}

func newPool(dial func(context.Context) (net.Conn, error)) *pool {
	p := &pool{dial: dial, open: make(map[*conn]struct{})}
	p.sweeper = time.AfterFunc(time.Hour, p.sweep)
	p.sweeper.Stop()
	return p
}

// get returns a connection for an attempt that started at began: the most recently used idle
// one, or a new one.
func (p *pool) get(ctx context.Context, r footfall.Record, began time.Time, timeout time.Duration) (*conn, error) {
	if c := p.pop(); c != nil {
		c.begin(began, timeout)
		return c, nil
	}
	return p.make(ctx, r, began, timeout)
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

// put takes a connection back.
func (p *pool) put(c *conn) {
	if !c.keep {
		p.drop(c)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended { // the connection is closed already
		return
	}
	p.idle = append(p.idle, c)
	if !p.due {
		p.due = true
		p.sweeper.Reset(idleTimeout)
	}
}

func (p *pool) drop(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	c.close()
}

// make dials a connection that is closed when ctx ends.
func (p *pool) make(ctx context.Context, r footfall.Record, began time.Time, timeout time.Duration) (*conn, error) {
	p.watch(ctx)
	ctx, cancel := context.WithDeadline(ctx, began.Add(timeout))
	defer cancel()
	r.OnInterrupt(cancel)
	raw, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := newConn(raw)
	c.begin(began, timeout)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		c.close()
		return nil, net.ErrClosed
	}
	p.open[c] = struct{}{}
	return c, nil
}

// watch closes every connection when ctx ends, which interrupts their requests. All attempts
// have the same context (see [footfall.Poster]), so it watches only the first one.
func (p *pool) watch(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		p.ctx = ctx
		p.unwatch = context.AfterFunc(ctx, p.end)
	}
}

// sweep closes connections that have been idle for too long.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	kept := p.idle[:0]
	oldest := now
	for _, c := range p.idle {
		if now.Sub(c.lastAttempt) >= idleTimeout {
			delete(p.open, c)
			c.close()
			continue
		}
		kept = append(kept, c)
		if c.lastAttempt.Before(oldest) {
			oldest = c.lastAttempt
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	if p.due = len(kept) > 0 && !p.ended; p.due {
		p.sweeper.Reset(idleTimeout - now.Sub(oldest))
	}
}

// end closes every connection, idle or in use.
func (p *pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended, p.idle = true, nil
	p.sweeper.Stop()
	for c := range p.open {
		c.close()
	}
	clear(p.open)
}

func (p *pool) close() {
	p.end()
	if p.unwatch != nil {
		p.unwatch()
	}
}
