package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/footfall-dev/footfall"
)

// RelayConfig configures a [Relay]. The zero value of a field means its default. All relays of a
// stream should have the same one, because NATS uses the Consumer settings of the relay that
// started last.
type RelayConfig struct {
	// Next delivers the events. No tracker and no other relay may use it. Defaults to
	// footfall.NewHTTPTransport.
	Next footfall.Transport

	// Consumer is the name of the consumer that relays share. Defaults to "footfall-relay".
	Consumer string

	// AckWait is the time after which NATS gives the events of a relay that was killed to
	// another one. A running relay extends it. Defaults to 30 s.
	AckWait time.Duration

	// MaxAckPending bounds the unacknowledged events of all relays together, those that fail and were returned to the
	// stream among them: if so many fail again and again, the relays take no others. Defaults to 65,536.
	MaxAckPending int

	// MaxHeld bounds the events in the memory of this relay. Defaults to 1,024.
	MaxHeld int

	// Rate bounds the events that this relay takes from the stream in a second. Retries are not
	// counted. Defaults to no bound.
	Rate float64

	// StopTimeout is how long Run waits for the API's answers after its context has ended.
	// Defaults to 5 s.
	StopTimeout time.Duration
}

func (c RelayConfig) withDefaults() RelayConfig {
	c.Consumer = cmp.Or(c.Consumer, "footfall-relay")
	c.AckWait = cmp.Or(c.AckWait, 30*time.Second)
	c.MaxAckPending = cmp.Or(c.MaxAckPending, 65_536)
	c.MaxHeld = min(cmp.Or(c.MaxHeld, 1024), c.MaxAckPending)
	c.StopTimeout = cmp.Or(c.StopTimeout, 5*time.Second)
	return c
}

// Validate returns the errors of wrong fields that [NewRelay] returns, each a [*footfall.FieldError],
// without a connection.
func (c RelayConfig) Validate() error {
	c = c.withDefaults()
	return c.check()
}

func (c *RelayConfig) check() error {
	var problems []error
	report := func(wrong bool, field, reason string) {
		if wrong {
			problems = append(problems, &footfall.FieldError{Field: "stream.RelayConfig." + field, Reason: reason})
		}
	}
	positive := func(field string, ok bool) { report(!ok, field, "not positive") }
	report(hasSpecial(c.Consumer), "Consumer", "contains a space, '.', '*', '>', '/' or '\\', which NATS does not allow in the name of a consumer")
	report(len(c.Consumer) > longestName, "Consumer", fmt.Sprintf("longer than %d bytes, which NATS does not allow", longestName))
	positive("AckWait", c.AckWait > 0)
	positive("MaxAckPending", c.MaxAckPending > 0)
	positive("MaxHeld", c.MaxHeld > 0)
	positive("Rate", c.Rate >= 0)
	positive("StopTimeout", c.StopTimeout > 0)
	return errors.Join(problems...)
}

// Relay takes events from the stream and delivers them. Its methods may be called from several
// goroutines at once.
type Relay struct {
	cfg     RelayConfig
	link    *link
	feed    *feed
	limit   *rate.Limiter // nil without a bound
	runs    atomic.Bool
	trouble atomic.Pointer[error] // why the last fetch did not reach the consumer
	search  search
	hurried context.Context // ends with a call to HandBack
	hurry   context.CancelFunc

	saidRejected atomic.Bool
}

// Stats counts the events of a relay since it was created. Taken is the sum of Repeated, Delivered,
// Rejected, HandedBack and Held.
type Stats struct {
	Taken       uint64 // deliveries of NATS to this relay
	Redelivered uint64 // deliveries that were not the first of their event
	Repeated    uint64 // redeliveries of events that the relay still held, which it settles once
	Delivered   uint64 // events that the API accepted
	Rejected    uint64 // events that are in the stream of rejected events
	HandedBack  uint64 // deliveries that the relay returned to the stream
	Held        int    // events in the memory of the relay
}

// NewRelay connects to NATS and returns a relay. It uses the same fields of api as
// footfall.NewHTTPTransport. The error joins the errors of the three Configs, or is a
// [*SettingsError], or says why NATS refuses the connection, or does not create the streams or the
// consumer, or which permission for it is missing. An unreachable NATS server is not an error.
func NewRelay(api footfall.Config, cfg Config, relay RelayConfig) (*Relay, error) {
	cfg, relay = cfg.withDefaults(api.Logger), relay.withDefaults()
	var problem error
	if relay.Next == nil {
		relay.Next, problem = footfall.NewHTTPTransport(api)
	}
	if err := errors.Join(cfg.check(), relay.check(), problem); err != nil {
		return nil, err
	}
	link, err := dial(cfg, "footfall relay", 0)
	if err != nil {
		return nil, err
	}
	r := newRelay(link, relay)
	if _, err := r.consumer(context.Background()); err != nil {
		if isMistake(err) || isDenied(err) {
			link.close()
			return nil, err
		}
		r.trouble.Store(&err)
		link.log.Warn("stream: NATS cannot be used; the relay waits until it can", "error", err)
	}
	return r, nil
}

// newRelay returns a relay with a connection.
func newRelay(link *link, cfg RelayConfig) *Relay {
	r := &Relay{cfg: cfg, link: link, feed: newFeed(link, cfg.MaxHeld, cfg.AckWait)}
	r.hurried, r.hurry = context.WithCancel(context.Background())
	r.trouble.Store(&errNotYet)
	r.search.returned = time.Now()
	if cfg.Rate > 0 {
		r.limit = rate.NewLimiter(rate.Limit(cfg.Rate), 1)
	}
	return r
}

// Stats returns the counts so far. They are one consistent snapshot.
func (r *Relay) Stats() Stats { return r.feed.read() }

// Failure returns the error of the last failed attempt to deliver an event that the relay still
// has, or nil.
func (r *Relay) Failure() error { return r.feed.src.Failure() }

// Ready returns nil if the relay runs and takes events from the stream.
func (r *Relay) Ready() error {
	switch {
	case !r.runs.Load():
		return errors.New("stream: the relay does not run")
	case !r.link.nc.IsConnected():
		return r.link.away()
	}
	if err := r.trouble.Load(); err != nil {
		return fmt.Errorf("stream: the relay cannot take events: %w", *err)
	}
	return nil
}

// Outage returns the current outage of the API, or false if there is none, or if RelayConfig.Next
// does not implement [footfall.OutageReporter].
func (r *Relay) Outage() (o footfall.Outage, out bool) {
	if next, ok := r.cfg.Next.(footfall.OutageReporter); ok {
		return next.Outage()
	}
	return o, false
}

func (r *Relay) isOut() bool { _, out := r.Outage(); return out }

// Run delivers events until ctx ends. Then it returns the events that are not in flight to the
// stream, waits up to StopTimeout for the API's answers, returns the remaining events, closes the
// connection and returns nil. Run may be called once. The error is a [*SettingsError] of a stream
// that the relay cannot use any more, says why NATS does not create it or the consumer again or which
// permission is missing, wraps [ErrAckDenied], or says that Next has stopped.
func (r *Relay) Run(ctx context.Context) error {
	if r.runs.Swap(true) {
		return errors.New("stream: Relay.Run was called before")
	}
	defer r.link.close()
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	delivery, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var parts sync.WaitGroup
	parts.Go(func() { stop(r.fetch(work)); r.feed.end() })
	moving, delivered := make(chan struct{}), make(chan struct{})
	go func() { defer close(moving); r.moveRejected(delivery, delivered) }()
	extending := r.extend()
	go func() {
		defer close(delivered)
		r.cfg.Next.Deliver(delivery, r.feed.src)
		stop(errNextStopped)
	}()
	<-work.Done()
	r.feed.close()
	timer := time.AfterFunc(r.cfg.StopTimeout, abort)
	defer context.AfterFunc(r.hurried, abort)()
	<-delivered
	parts.Wait()
	<-moving
	timer.Stop()
	extending()
	r.feed.abandon()
	r.flush()
	r.runs.Store(false)
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(work)
}

// HandBack ends the wait for the API's answers at the end of Run: Run returns the remaining events to the
// stream at once. It is for programs that are told twice to end.
func (r *Relay) HandBack() { r.hurry() }

// errNotYet is the trouble of a relay before its first fetch.
var errNotYet = errors.New("it has not reached the stream yet")

var errNextStopped = errors.New("stream: RelayConfig.Next has stopped")

// flush sends the last acknowledgements, and waits until NATS has what was written.
func (r *Relay) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), r.link.cfg.Timeout)
	defer cancel()
	if r.feed.acks.close(ctx) == nil && r.link.nc.IsConnected() {
		_ = r.link.nc.FlushWithContext(ctx) // otherwise AckWait returns the events
	}
}

// extend extends the time of the messages until stop is called.
func (r *Relay) extend() (stop func()) {
	ended := make(chan struct{})
	ticker := time.NewTicker(r.cfg.AckWait / 3)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				if r.link.nc.IsConnected() {
					r.feed.extend()
				}
			case <-ended:
				return
			}
		}
	})
	return func() { ticker.Stop(); close(ended); running.Wait() }
}

// consumer returns the consumer that relays share, after it has created what is missing.
func (r *Relay) consumer(ctx context.Context) (*consumer, error) {
	if err := r.link.ready(ctx); err != nil {
		return nil, err
	}
	if err := r.link.ackDenied(streamInfo + r.link.cfg.Name); err != nil && r.link.created.Load() == 0 {
		return nil, err
	}
	from := r.link.origin()
	if err := r.link.ensureRejected(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout) // not the one in which ensureRejected may have waited
	defer cancel()
	c, err := r.link.js.CreateOrUpdateConsumer(ctx, r.link.cfg.Name, jetstream.ConsumerConfig{
		Durable:       r.cfg.Consumer,
		Description:   "Relays of Footfall",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       r.cfg.AckWait,
		MaxDeliver:    -1,
		MaxAckPending: r.cfg.MaxAckPending,
	})
	if err != nil {
		return nil, r.about(r.link.reason(err, r.subject(consumerCreate)))
	}
	r.logExpired(ctx, c)
	return &consumer{Consumer: c, from: from}, nil
}

// about names the consumer in an error.
func (r *Relay) about(err error) error {
	return fmt.Errorf("stream: consumer %q of NATS stream %q: %w", r.cfg.Consumer, r.link.cfg.Name, err)
}

// subject returns the subject of a request about the consumer.
func (r *Relay) subject(request string) string {
	return request + r.link.cfg.Name + "." + r.cfg.Consumer
}

// logExpired logs events that are lost because no relay has taken them in time.
func (r *Relay) logExpired(ctx context.Context, c jetstream.Consumer) {
	s, err := r.link.js.Stream(ctx, r.link.cfg.Name)
	if err != nil {
		return // the account of NATS may not read it
	}
	if n := expired(s.CachedInfo(), c.CachedInfo()); n > 0 {
		r.link.log.Error("stream: NATS has removed events that no relay had taken, because of their age or by a purge", "stream", r.link.cfg.Name, "events", n)
	}
}
