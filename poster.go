package footfall

import (
	"context"
	"errors"
	"fmt"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/wire"
)

// Poster sends single events to the API. It is the exchangeable part of an HTTP
// transport: how many events are under way, what an answer means, what is tried again
// and when, what Close still sends and what OnError is told stay with the transport.
type Poster interface {
	// Post sends r as one POST /v1/events below Config.BaseURL, with r.ID as
	// Idempotency-Key, and notes in a what came back: whatever the status, an
	// answer is no error. An error means that there was none; a is then not
	// looked at.
	//
	// It makes one attempt, follows no redirect, and is back within
	// Config.AttemptTimeout, or as soon as ctx ends. All calls have the ctx of
	// Transport.Deliver, so who must be told of its end may ask once. It may try
	// again, with the same id, only where a connection that was kept turns out to
	// have been closed meanwhile.
	//
	// It is called from at most Config.MaxInFlight goroutines at once. When it
	// has returned, neither r.Body nor a may be used any more. A panic in it is
	// an error, and errors are freed of the API key before anybody reads them.
	Post(ctx context.Context, r Record, a *Answer) error

	// Close lets go of connections. It is called once, when no Post runs or will.
	Close()
}

// Answer is what a Poster got back for an event.
type Answer struct {
	// Status is the HTTP status code, and no informational one but 101.
	Status int

	// RetryAfter is the header of that name, as it came.
	RetryAfter string

	// Body is the beginning of the answer's body, of which up to 16 KiB are
	// looked at. A Poster gets it empty and appends: what it has of capacity is
	// left by earlier answers.
	Body []byte

	// Cut says why Body ends before those 16 KiB and before the body does, such
	// as a connection that broke. Nil if it does not.
	Cut error
}

// reset empties the Answer for the next event.
func (a *Answer) reset() { *a = Answer{Body: a.Body[:0]} }

// NewPostingTransport returns an HTTP transport as NewHTTPTransport does, whose events
// are sent by what open returns in place of net/http. It calls open once, with a Config
// that has been checked and has its defaults. Config.HTTPClient means nothing to the
// transport, so that open should refuse it if it has no use for it either.
func NewPostingTransport(cfg Config, open func(Config) (Poster, error)) (Transport, error) {
	return newReportingTransport(cfg, func(cfg *Config) (Poster, error) {
		p, err := open(*cfg)
		if err == nil && p == nil {
			err = errors.New("footfall: no Poster to send events with")
		}
		return &foreign{p, wire.NewCleaner(cfg.BaseURL, cfg.APIKey)}, err
	})
}

// foreign is a Poster that is not this package's own.
type foreign struct {
	Poster
	wire.Cleaner
}

// Post implements Poster.
func (f *foreign) Post(ctx context.Context, r Record, a *Answer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("footfall: panic in the Poster: %s", f.Scrub(fmt.Sprint(v)))
		}
	}()
	if err = f.Poster.Post(ctx, r, a); err != nil {
		return f.Clean(err)
	}
	if a.Cut != nil {
		a.Cut = f.Clean(a.Cut)
	}
	a.Body = a.Body[:min(len(a.Body), wire.MaxBody)]
	return nil
}

// netPoster posts with net/http.
type netPoster struct {
	api      *wire.API
	attempts retry.Deadlines
}

var _ Poster = (*netPoster)(nil)

func newNetPoster(cfg *Config) *netPoster {
	return &netPoster{
		api:      wire.New(cfg.BaseURL, cfg.APIKey, cfg.HTTPClient, cfg.MaxInFlight),
		attempts: retry.NewDeadlines(cfg.AttemptTimeout, cfg.MaxInFlight),
	}
}

// Post implements Poster.
func (p *netPoster) Post(ctx context.Context, r Record, into *Answer) error {
	attempt := p.attempts.Begin(ctx)
	defer p.attempts.End(attempt)
	a := p.api.Post(attempt, r.ID, r.Body, into.Body)
	if a.Err != nil && attempt.Err() != nil {
		return p.api.Clean(context.Cause(attempt))
	}
	*into = Answer{Status: a.Status, RetryAfter: a.RetryAfter, Body: a.Body, Cut: a.Cut}
	return a.Err
}

// Close implements Poster.
func (p *netPoster) Close() {
	p.attempts.Close()
	p.api.Close()
}
