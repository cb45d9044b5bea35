package collector

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/publicurl"
	"github.com/footfall-dev/footfall/collector/store"
)

// Config configures a [Collector]. The zero value of a field selects its default. [New]
// copies the Config: later changes have no effect.
type Config struct {
	// Store keeps events and the account. The caller closes it after the Collector. The Collector
	// also uses methods that only some stores have, such as Damage of [store.Inspector] and Scrub
	// of package sqlite: a type that wraps a store should embed the store's own type.
	// Required.
	Store store.Store

	// PublicURL is the URL at which browsers reach the collector, such as
	// https://stats.example.com: scheme and host, no path. The setup link and the script tag
	// contain it. With https, cookies are sent over HTTPS only. Defaults to the address of
	// each page request.
	PublicURL string

	// TrustedProxies lists the proxies whose X-Forwarded-For header is trusted. The client is
	// the rightmost address in it that is not listed. Anyone can send this header, so list
	// only your own proxies. All visitors behind a proxy that is not listed count as one.
	// Defaults to none.
	TrustedProxies []netip.Prefix

	// Retention is how long events are kept, in whole UTC days. Older events are removed
	// daily. Must not be negative. Defaults to 0, which keeps them forever.
	Retention time.Duration

	// KeyRate is the sustained rate of events per second for each API key. Events above it
	// get a 429 with Retry-After. The default exceeds the capacity of a small machine: lower
	// it to stop one faulty backend from filling the disk. Repeated events count; requests
	// that list sites do not. Negative means no limit.
	// Defaults to 50,000.
	KeyRate float64

	// KeyBurst is how many events of a key may arrive at once. Defaults to two seconds of
	// KeyRate, at least 1.
	KeyBurst int

	// BrowserRate is the sustained rate of browser events per second for each /24 (IPv4) or
	// /64 (IPv6) network. Defaults to 50.
	BrowserRate float64

	// BrowserBurst is how many browser events may arrive at once. Defaults to 500.
	BrowserBurst int

	// CountHeadless counts headless browsers as visitors. Tests and bots use them. Defaults to
	// treating them as bots.
	CountHeadless bool

	// MaxPending bounds the events waiting to be committed, and so memory when events arrive
	// faster than the disk stores them. More events get a 503 with Retry-After. Defaults to
	// 4,096.
	MaxPending int

	// CommitTimeout bounds the wait for a commit; after it the answer is 503. The event may
	// still be committed, so senders should use an Idempotency-Key. Defaults to 5s.
	CommitTimeout time.Duration

	// MaxConnections bounds the connections of Serve. A connection takes about 25 KB, and up to
	// 128 KB of the kernel's memory for answers that its client has not read. At the limit, the
	// connection that has waited longest for its client is closed for a new one. It may wait for
	// the client to send another request, to send the rest of a request, or to read a part of an
	// answer. A connection that does not wait for another request has at least half a second;
	// until then the new one waits. Above three quarters of the limit, connections that have
	// waited for more than 5 s are closed for new ones. Serve uses fewer if the process may open
	// fewer files.
	// Defaults to 4,000.
	MaxConnections int

	// HeaderTimeout is how long Serve waits for a request's header. Defaults to 5s.
	HeaderTimeout time.Duration

	// ReadTimeout is how long Serve waits for a whole request. Defaults to 15s.
	ReadTimeout time.Duration

	// WriteTimeout is how long Serve waits for a client that stops reading its answer.
	// Defaults to 30s.
	WriteTimeout time.Duration

	// IdleTimeout is how long Serve keeps an idle connection. Defaults to 2m.
	IdleTimeout time.Duration

	// ShutdownTimeout is how long Serve waits for open requests when it ends. An export that is
	// not complete after nine tenths of it ends with a line that says so. Defaults to 10s.
	ShutdownTimeout time.Duration

	// OnAnswer is called after each answer of the API and to browsers, with the endpoint ("events",
	// "sites" or "browser"), the status, and the time that the answer took. It must return quickly, and
	// be safe for concurrent use. Defaults to nil, which calls nothing.
	OnAnswer func(endpoint string, status int, took time.Duration)

	// Logger logs failures of the store and the collector, without addresses or contents of
	// events. Defaults to slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.PublicURL = publicurl.Trim(c.PublicURL)
	c.TrustedProxies = slices.Clone(c.TrustedProxies)
	c.KeyRate = cmp.Or(c.KeyRate, 50_000)
	c.KeyBurst = cmp.Or(c.KeyBurst, max(int(min(2*c.KeyRate, 1<<30)), 1))
	c.BrowserRate = cmp.Or(c.BrowserRate, 50)
	c.BrowserBurst = cmp.Or(c.BrowserBurst, 500)
	c.MaxPending = cmp.Or(c.MaxPending, 4096)
	c.MaxConnections = cmp.Or(c.MaxConnections, 4000)
	c.CommitTimeout = cmp.Or(c.CommitTimeout, 5*time.Second)
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, 5*time.Second)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 15*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 2*time.Minute)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// check returns all problems of a Config that has its defaults.
func (c *Config) check() error {
	var problems []error
	report := func(wrong bool, field, reason string) {
		if wrong {
			problems = append(problems, fmt.Errorf("collector: Config.%s: %s", field, reason))
		}
	}
	report(c.Store == nil, "Store", "is missing: open one with sqlite.Open")
	report(c.PublicURL != "" && !publicurl.Valid(c.PublicURL), "PublicURL", "must be an http or https URL without a path, such as https://stats.example.com")
	report(c.Retention < 0, "Retention", "is negative")
	report(math.IsNaN(c.KeyRate), "KeyRate", "is not a number")
	report(c.KeyBurst < 0, "KeyBurst", "is negative")
	report(!(c.BrowserRate > 0), "BrowserRate", "must be above zero")
	report(c.BrowserBurst < 0, "BrowserBurst", "is negative")
	report(c.MaxPending < 0, "MaxPending", "is negative")
	report(c.MaxConnections < 0, "MaxConnections", "is negative")
	for field, d := range map[string]time.Duration{
		"CommitTimeout": c.CommitTimeout, "HeaderTimeout": c.HeaderTimeout, "ReadTimeout": c.ReadTimeout,
		"WriteTimeout": c.WriteTimeout, "IdleTimeout": c.IdleTimeout, "ShutdownTimeout": c.ShutdownTimeout,
	} {
		report(d < 0, field, "is negative")
	}
	return errors.Join(problems...)
}
