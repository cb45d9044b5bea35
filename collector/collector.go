package collector

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/client"
	"github.com/footfall-dev/footfall/collector/internal/distinct"
	"github.com/footfall-dev/footfall/collector/internal/order"
	"github.com/footfall-dev/footfall/collector/live"
	"github.com/footfall-dev/footfall/collector/store"
)

// Collector is the service, an [http.Handler]. It is safe for concurrent use.
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
	limits   *distinct.Limits
	counted  chan struct{} // closed when limits has the texts of earlier runs
	order    order.Times
	ignored  atomic.Int64
	health   health
	pending  atomic.Int64
	troubled sparse
	hidden   sync.Once // logs a proxy that hides its clients

	fromAPI, fromBrowsers outcomes

	closing    atomic.Bool
	inFlight   atomic.Int64
	queries    chan struct{} // of the stats API that run; of length maxQueries()
	idle       chan struct{} // receives when the last request ends during closing
	endLive    context.Context
	endLives   context.CancelFunc
	endExport  context.Context
	endExports context.CancelFunc
	ending     context.Context // of the background
	end        context.CancelFunc
	background sync.WaitGroup
	ended      chan struct{} // closed when the background has ended
}

var _ http.Handler = (*Collector)(nil)

// New returns a Collector that is ready to serve. ctx bounds the reading of the account and
// of recent activity. The Collector counts the distinct texts of today's events in the background. Call [Collector.Close] when the Collector is no longer needed.
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
		limits:   distinct.New(),
		queries:  make(chan struct{}, maxQueries()),
		idle:     make(chan struct{}, 1),
		counted:  make(chan struct{}),
		ended:    make(chan struct{}),
	}
	c.salts.zones = c.zones
	if cfg.KeyRate > 0 {
		c.keys = newLimiter[string](cfg.KeyRate, cfg.KeyBurst)
	}
	c.endLive, c.endLives = context.WithCancel(context.WithoutCancel(ctx))
	c.endExport, c.endExports = context.WithCancel(context.WithoutCancel(ctx))
	c.ending, c.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.begin(ctx); err != nil {
		c.endLives()
		c.endExports()
		c.end()
		return nil, err
	}
	c.dashboard = newDashboard(c)
	c.background.Go(c.countToday)
	c.background.Go(c.doChores)
	c.background.Go(c.finishDeletions)
	c.background.Go(c.keepRetention)
	go func() {
		c.background.Wait()
		close(c.ended)
	}()
	return c, nil
}

// begin reads the state of earlier runs.
func (c *Collector) begin(ctx context.Context) error {
	if err := c.activity.load(ctx, c.store, c.account.Sites()); err != nil {
		return err
	}
	_, _, err := c.salts.today(ctx, c.zones()[0]) // fail now rather than with each event of a browser
	if errors.Is(err, store.ErrFull) {
		c.trouble("no event can be stored", err)
		return nil
	}
	return err
}

// zones returns the time zones of the sites, UTC without sites.
func (c *Collector) zones() (all []*time.Location) {
	for _, s := range c.account.Sites() {
		all = append(all, s.Location())
	}
	if len(all) == 0 {
		all = append(all, time.UTC)
	}
	return all
}

// Account returns the account: sites, keys, goals, funnels and the password.
func (c *Collector) Account() *account.Account { return c.account }

// SetupURL returns the link that sets the first password; empty if a password is set.
// Without Config.PublicURL it is a path.
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
	if isAmbiguous(r) {
		w.Header().Set("Connection", "close")
	}
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/v1/") || path == "/v1":
		c.answer(w, r, c.serveAPI)
	case strings.HasPrefix(path, "/stats/"):
		c.answer(w, r, c.serveStats)
	case path == "/e":
		c.answer(w, r, c.serveBrowserEvents)
	case path == "/t.js":
		c.answer(w, r, serveScript)
	case path == "/openapi.yaml":
		c.answer(w, r, serveDescription)
	case path == "/healthz":
		c.answer(w, r, c.serveHealth)
	case path == "/livez":
		c.answer(w, r, serveLife)
	default:
		c.serveDashboard(w, r)
	}
}

// isAmbiguous reports whether a proxy may have seen another end of the request, so that the connection
// must end with the answer (RFC 9112, section 6.1): it may have a Content-Length beside its
// Transfer-Encoding, or a Transfer-Encoding in HTTP/1.0. net/http removes what it ignores.
func isAmbiguous(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) && r.Body != http.NoBody
}

// leave runs at the end of each request.
func (c *Collector) leave() {
	if c.inFlight.Add(-1) > 0 || !c.closing.Load() {
		return
	}
	select {
	case c.idle <- struct{}{}:
	default:
	}
}

// answer writes the failure that handle returns. A panic becomes a failure, too, so that
// API clients get an answer that they can parse.
func (c *Collector) answer(w http.ResponseWriter, r *http.Request, handle func(http.ResponseWriter, *http.Request) *failure) {
	w, end := c.watch(w, r)
	defer end()
	defer c.recoverPanic(w, r)
	if c.closing.Load() {
		unavailable("the service is closing").write(w)
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
		(&failure{status: http.StatusInternalServerError, code: "internal", message: "the service failed; its log says why"}).write(w)
	}
}

func (c *Collector) logPanic(r *http.Request, v any) {
	c.log.Error("collector: panic in a handler", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
}

// Close refuses new requests, waits for open ones, and stops the goroutines of [New]. If ctx
// ends first it returns ctx's error. The Store stays open: close it next. Close may be
// called again.
func (c *Collector) Close(ctx context.Context) error {
	c.closing.Store(true)
	defer c.endExports()
	c.endLives()
	c.end()
	select {
	case <-c.ended:
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

// client returns the address of the client that sent r. It logs, once, that a proxy does not send
// it.
func (c *Collector) client(r *http.Request) netip.Addr {
	if client.IsHidden(r, c.cfg.TrustedProxies) {
		c.hidden.Do(func() {
			c.log.Warn("collector: a trusted proxy sends no X-Forwarded-For, so all its visitors count as one: configure the proxy to send it", "proxy", client.Peer(r))
		})
	}
	return client.Addr(r, c.cfg.TrustedProxies)
}
