package lean

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/footfall-dev/footfall"
)

// New returns a Transport that posts to the API of cfg, for Config.Transport of a tracker or
// for a Transport such as a spool. It uses the same fields as [footfall.NewHTTPTransport],
// except Config.HTTPClient: New returns an error if it is set, because lean does not use
// net/http. A Transport serves one tracker only. The error joins a [*footfall.FieldError] for
// every problem.
func New(cfg footfall.Config) (footfall.Transport, error) {
	var refused error
	if cfg.HTTPClient != nil {
		refused = &footfall.FieldError{Field: "Config.HTTPClient", Reason: "set, but package lean does not use it: remove HTTPClient, or use the default transport"}
	}
	t, err := footfall.NewPostingTransport(cfg, newPoster)
	if err = errors.Join(refused, err); err != nil {
		return nil, err
	}
	return t, nil
}

// NewTracker returns a tracker that delivers with the transport of [New]. Config.Transport must
// not be set.
func NewTracker(cfg footfall.Config) (*footfall.Tracker, error) {
	if cfg.Disabled {
		return footfall.New(cfg)
	}
	if cfg.Transport != nil {
		return nil, &footfall.FieldError{Field: "Config.Transport", Reason: "set, but NewTracker sets it: use footfall.New"}
	}
	t, err := New(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Transport = t
	return footfall.New(cfg)
}

// poster is a [footfall.Poster] that reuses its connections.
type poster struct {
	head    func() []byte // the beginning of every request, including the key; see newHead
	pool    *pool
	timeout time.Duration // of one attempt
}

var _ footfall.Poster = (*poster)(nil)

func newPoster(cfg footfall.Config) (footfall.Poster, error) {
	head, host, err := newHead(cfg.BaseURL, cfg.APIKey)
	if err != nil {
		return nil, err
	}
	d, err := newDialer(cfg.BaseURL, host)
	if err != nil {
		return nil, err
	}
	return &poster{
		head:    func() []byte { return head },
		pool:    newPool(d.dial),
		timeout: cfg.AttemptTimeout,
	}, nil
}

// Post implements footfall.Poster. If a reused connection is closed or has unsolicited data,
// Post uses another one. If a new connection is, the attempt fails.
func (p *poster) Post(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
	began := time.Now()
	for {
		c, err := p.pool.get(ctx, r, began, p.timeout)
		if err != nil {
			return err
		}
		if !r.OnInterrupt(c.interrupt) {
			err = errInterrupted
		} else if err = c.write(p.head(), r); err == nil {
			err = c.read(a)
			c.finishWrite()
		}
		whole := r.OnInterrupt(nil) // before another attempt has the connection
		stale := c.stale && whole
		c.keep = c.keep && whole
		p.pool.put(c)
		if err == nil {
			return nil // even if ctx has ended meanwhile
		}
		if !stale {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// errInterrupted is the error of an attempt that ended early.
var errInterrupted = errors.New("lean: the attempt was interrupted")

// Close implements footfall.Poster.
func (p *poster) Close() { p.pool.close() }
