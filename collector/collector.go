package collector

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/live"
	"github.com/footfall-dev/footfall/collector/store"
)

// Collector is the service. It is safe for concurrent use.
type Collector struct {
	cfg       Config
	store     store.Store
	account   *account.Account
	live      live.Hub
	dashboard http.Handler
	log       *slog.Logger

	activity activity
	salts    salts
	failures *limiter[netip.Prefix] // wrong keys, by client
	browsers *limiter[netip.Prefix] // events of browsers, by client
	keys     *limiter[string]       // events of backends, by key; nil for no limit
	shown    *shown
	ignored  atomic.Int64
	pending  atomic.Int64
	troubled sparse

	closing  atomic.Bool
	inFlight atomic.Int64
	idle     chan struct{} // has an item when the last request ended while closing
	endLive  context.Context
	endLives context.CancelFunc
	ending   context.Context // of chores
	end      context.CancelFunc
	chored   chan struct{} // closed when chores have ended
}

var _ http.Handler = (*Collector)(nil)

// New returns a Collector that is ready to serve. ctx bounds the reading of the
// account and of what was going on lately. Call Close when it is no longer needed.
func New(ctx context.Context, cfg Config) (*Collector, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	acc, err := account.Open(ctx, cfg.Store)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		cfg:      cfg,
		store:    cfg.Store,
		account:  acc,
		log:      cfg.Logger,
		salts:    salts{store: cfg.Store},
		failures: newLimiter[netip.Prefix](failureRate, failureBurst),
		browsers: newLimiter[netip.Prefix](cfg.BrowserRate, cfg.BrowserBurst),
		shown:    newShown(maxShown, cfg.IdempotencyWindow),
		idle:     make(chan struct{}, 1),
		chored:   make(chan struct{}),
	}
	if cfg.KeyRate > 0 {
		c.keys = newLimiter[string](cfg.KeyRate, cfg.KeyBurst)
	}
	c.endLive, c.endLives = context.WithCancel(context.WithoutCancel(ctx))
	c.ending, c.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.begin(ctx); err != nil {
		c.endLives()
		c.end()
		return nil, err
	}
	c.dashboard = newDashboard(c)
	go c.doChores()
	return c, nil
}

// begin learns what happened before this start.
func (c *Collector) begin(ctx context.Context) error {
	if err := c.activity.load(ctx, c.store, c.account.Sites()); err != nil {
		return err
	}
	_, _, err := c.salts.today(ctx) // or a day's events of browsers would fail one by one
	return err
}

// Account returns the account: sites, keys, goals, funnels and the password.
func (c *Collector) Account() *account.Account { return c.account }

// SetupURL returns the link that sets the first password, once; empty if there is a
// password. Without Config.PublicURL it is a path.
func (c *Collector) SetupURL() string {
	token := c.account.SetupToken()
	if token == "" {
		return ""
	}
	return c.cfg.PublicURL + "/setup?token=" + token
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.inFlight.Add(1)
	defer c.leave()
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/v1/") || path == "/v1":
		c.answer(w, r, c.serveAPI)
	case path == "/e":
		c.answer(w, r, c.serveBrowser)
	case path == "/t.js":
		c.answer(w, r, serveScript)
	case path == "/healthz":
		c.answer(w, r, c.serveHealth)
	default:
		c.serveDashboard(w, r)
	}
}

// leave runs when a request ended.
func (c *Collector) leave() {
	if c.inFlight.Add(-1) > 0 || !c.closing.Load() {
		return
	}
	select {
	case c.idle <- struct{}{}:
	default:
	}
}

// answer writes what handle returns, if it is a failure. A panic becomes one too: the
// caller of an API is owed an answer that it can read.
func (c *Collector) answer(w http.ResponseWriter, r *http.Request, handle func(http.ResponseWriter, *http.Request) *failure) {
	defer c.recoverPanic(w, r)
	if c.closing.Load() {
		unavailable("the collector is closing").write(w)
		return
	}
	if f := handle(w, r); f != nil {
		f.write(w)
	}
}

func (c *Collector) recoverPanic(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		c.logPanic(r, v)
		(&failure{status: http.StatusInternalServerError, code: "internal", message: "the collector failed; its log says why"}).write(w)
	}
}

func (c *Collector) logPanic(r *http.Request, v any) {
	c.log.Error("collector: panic in a handler", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
}

// Close refuses further requests, waits for those under way, and ends what New
// started. It returns ctx's error if they take longer than that. The Store stays open:
// close it next. Calling Close again is allowed.
func (c *Collector) Close(ctx context.Context) error {
	c.closing.Store(true)
	c.endLives()
	c.end()
	select {
	case <-c.chored:
	case <-ctx.Done():
		return ctx.Err()
	}
	for c.inFlight.Load() > 0 {
		select {
		case <-c.idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// client returns whom a request comes from.
func (c *Collector) client(r *http.Request) netip.Addr { return clientAddr(r, c.cfg.TrustedProxies) }
