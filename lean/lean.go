package lean

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/footfall-dev/footfall"
)

// New returns a Transport for Config.Transport of a tracker, or for whatever else takes
// one, that posts to the API of cfg. It heeds the fields that footfall.NewHTTPTransport
// does, except Config.HTTPClient, which it refuses: there is no net/http in it to be
// configured. It may be given to one tracker. The error joins a *footfall.FieldError for
// every problem.
func New(cfg footfall.Config) (footfall.Transport, error) {
	var refused error
	if cfg.HTTPClient != nil {
		refused = &footfall.FieldError{Field: "Config.HTTPClient", Reason: "set, but the lean transport does not send with net/http: remove one of them"}
	}
	t, err := footfall.NewPostingTransport(cfg, newPoster)
	if err = errors.Join(refused, err); err != nil {
		return nil, err
	}
	return t, nil
}

// NewTracker returns a tracker that delivers with the transport of New. Config.Transport
// must not be set.
func NewTracker(cfg footfall.Config) (*footfall.Tracker, error) {
	if cfg.Disabled {
		return footfall.New(cfg)
	}
	if cfg.Transport != nil {
		return nil, &footfall.FieldError{Field: "Config.Transport", Reason: "set, but NewTracker makes it: use footfall.New"}
	}
	t, err := New(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Transport = t
	return footfall.New(cfg)
}

// poster is a footfall.Poster that keeps its connections.
type poster struct {
	head    func() []byte // what every request begins with, the key included: see newHead
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

// Post implements footfall.Poster. A kept connection on which the server has sent something
// unasked, or which it has closed, costs the attempt nothing but another connection. If that
// happens to a new connection, the attempt ends.
func (p *poster) Post(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
	began := time.Now()
	for {
		c, err := p.pool.get(ctx, began, p.timeout)
		if err != nil {
			return err
		}
		if err = c.write(p.head(), r); err == nil {
			err = c.read(a)
			c.finishWrite()
		}
		stale := c.stale
		p.pool.put(c)
		if err == nil {
			return nil // the answer is there, even if ctx has ended meanwhile
		}
		if !stale {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// Close implements footfall.Poster.
func (p *poster) Close() { p.pool.close() }
