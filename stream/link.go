package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// link is a connection to NATS.
type link struct {
	cfg Config
	log *slog.Logger
	nc  *nats.Conn
	js  jetstream.JetStream

	failing  atomic.Int64 // time since when requests fail; 0 if the last one worked
	checked  atomic.Bool  // the streams exist with the settings of cfg
	created  atomic.Int64 // when the stream of events was, in nanoseconds; 0 if there is none, or the account may not read it
	replicas atomic.Int64 // of the stream of events; 0 if the account may not read it
	said     sync.Map     // by stream: the different bounds that were logged last
	mu       sync.Mutex   // held while they are checked
	failure  error        // of the last check
	failedAt time.Time
}

// errAway is the error while NATS is not connected.
var errAway = errors.New("stream: not connected to NATS")

// dial connects to NATS. If no server answers, the link connects later. It returns an error only
// for a mistake that the operator must correct, such as wrong credentials. buffer is the size of
// the buffer for writes while NATS is not connected; 0 means the default of nats.go.
func dial(cfg Config, name string, buffer int, options ...jetstream.JetStreamOpt) (*link, error) {
	l := &link{cfg: cfg, log: cfg.Logger, nc: cfg.Conn}
	if l.nc == nil {
		var err error
		if l.nc, err = connect(&cfg, name, buffer); err != nil {
			return nil, err
		}
	}
	var err error
	if l.js, err = jetstream.New(l.nc, options...); err != nil {
		l.close()
		return nil, fmt.Errorf("stream: %w", err)
	}
	return l, nil
}

// open checks a Config and connects to NATS with it.
func open(cfg Config, name string) (*link, error) {
	cfg = cfg.withDefaults(nil)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return dial(cfg, name, 0)
}

func connect(cfg *Config, name string, buffer int) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(name),
		nats.Timeout(cfg.Timeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.PingInterval(5 * time.Second), // a server that hangs is left after three
		nats.FlusherTimeout(cfg.Timeout),   // a write holds the lock of the connection
		nats.IgnoreAuthErrorAbort(),        // credentials may be valid again
		nats.ReconnectBufSize(buffer),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			cfg.Logger.Warn("stream: NATS reports an error", "error", err)
		}),
	}
	options = append(options, cfg.Options...)
	nc, err := nats.Connect(cfg.URL, options...)
	if err == nil {
		return nc, nil
	}
	if final := finalOf(cfg.URL, options, err); final != nil {
		return nil, fmt.Errorf("stream: NATS: %w", cause(final))
	}
	cfg.Logger.Warn("stream: NATS is away; events wait until it can be reached", "servers", withoutUsers(cfg.URL), "error", err)
	nc, err = nats.Connect(cfg.URL, append(options, nats.RetryOnFailedConnect(true))...)
	if err != nil {
		return nil, fmt.Errorf("stream: NATS: %w", cause(err))
	}
	return nc, nil
}

// withoutUsers returns a list of URLs without the users and passwords that they may contain.
func withoutUsers(urls string) string {
	var list []string
	for _, one := range addresses(urls) {
		if u, err := url.Parse(one); err == nil {
			u.User = nil
			list = append(list, u.String())
		}
	}
	return strings.Join(list, ",")
}

// ready returns nil if NATS is connected and its streams have the settings of Config.
func (l *link) ready(ctx context.Context) error {
	if !l.nc.IsConnected() {
		return l.away()
	}
	if l.checked.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.checked.Load():
		return nil
	case l.failure != nil && time.Since(l.failedAt) < checkEvery:
		return l.failure // senders that have waited for the lock
	}
	l.failure = l.ensure(ctx, l.cfg.wanted())
	l.failedAt = time.Now()
	l.checked.Store(l.failure == nil)
	l.failed(l.failure)
	return l.failure
}

// checkEvery is the time between two checks of the settings that fail.
const checkEvery = time.Second

// away returns the reason why NATS is not connected.
func (l *link) away() error {
	if err := l.nc.LastError(); err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return errAway
}

// refused explains an error of a request about a stream.
func (l *link) refused(request, stream string, err error) error {
	return fmt.Errorf("stream: NATS stream %q: %w", stream, l.reason(err, request+stream))
}

// close closes a connection that was not given in Config.
func (l *link) close() {
	if l.cfg.Conn == nil {
		l.nc.Close()
	}
}
