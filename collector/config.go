package collector

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Config configures a Collector. The zero value of a field means its default. New
// copies what it needs: changing a Config afterwards changes nothing.
type Config struct {
	// Store keeps events and the account. It stays the caller's, who closes it
	// after the Collector. Required.
	Store store.Store

	// PublicURL is where browsers find the collector, such as
	// https://stats.example.com: scheme and host, without a path. The setup link and
	// the snippet for pages are made with it; with https, cookies are sent over https
	// only. Defaults to the address that a page was asked for.
	PublicURL string

	// TrustedProxies lists the addresses whose X-Forwarded-For is believed. Of the
	// addresses in it the rightmost that is not listed is the client's. Anybody can
	// send that header, so list only your own proxies; without them all visitors
	// behind a proxy are one. Defaults to none.
	TrustedProxies []netip.Prefix

	// Retention is how long events are kept, by whole UTC days; older ones are
	// removed daily. Negative is refused. Defaults to for ever.
	Retention time.Duration

	// KeyRate is how many events per second may be posted with one API key in the long
	// run; more are answered with 429 and Retry-After. The default is more than a small
	// machine stores: lower it where the loop of one backend must not fill the disk of
	// all. Repeats count, calls that list sites do not. Negative means no limit.
	// Defaults to 50,000.
	KeyRate float64

	// KeyBurst is how many of them may come at once. Defaults to those of two seconds,
	// and at least 1.
	KeyBurst int

	// BrowserRate is how many events per second the browsers of one /24 (IPv4) or
	// /64 (IPv6) may send in the long run. Defaults to 50.
	BrowserRate float64

	// BrowserBurst is how many of them may come at once. Defaults to 500.
	BrowserBurst int

	// CountHeadless counts browsers that say that they are headless, as those of
	// tests do; bots use them too. Defaults to treating them as bots.
	CountHeadless bool

	// MaxPending bounds the events that wait to be committed; more are answered
	// with 503 and Retry-After, which bounds memory when events come faster than the
	// disk takes them. Defaults to 4,096.
	MaxPending int

	// CommitTimeout bounds the wait for one commit; after it the answer is 503. The
	// event may be committed later: senders use an Idempotency-Key. Defaults to 5s.
	CommitTimeout time.Duration

	// HeaderTimeout is how long Serve waits for the header of a request. Defaults
	// to 5s.
	HeaderTimeout time.Duration

	// ReadTimeout is how long Serve waits for all of a request. Defaults to 15s.
	ReadTimeout time.Duration

	// WriteTimeout is how long Serve waits for a client that takes no more of an
	// answer. Defaults to 30s.
	WriteTimeout time.Duration

	// IdleTimeout is how long Serve keeps a connection without requests. Defaults
	// to 2m.
	IdleTimeout time.Duration

	// ShutdownTimeout is how long Serve lets requests finish when it ends. Defaults
	// to 10s.
	ShutdownTimeout time.Duration

	// IdempotencyWindow is for how long live views show an event with the same
	// Idempotency-Key once, from 1m to 720h. What counts is decided by the Store, so
	// set it to that of the Store. Defaults to 24h.
	IdempotencyWindow time.Duration

	// Logger is told about failures of the store and of the collector itself, never
	// about addresses or contents of events. Defaults to slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	c.TrustedProxies = slices.Clone(c.TrustedProxies)
	c.KeyRate = cmp.Or(c.KeyRate, 50_000)
	c.KeyBurst = cmp.Or(c.KeyBurst, max(int(min(2*c.KeyRate, 1<<30)), 1))
	c.BrowserRate = cmp.Or(c.BrowserRate, 50)
	c.BrowserBurst = cmp.Or(c.BrowserBurst, 500)
	c.MaxPending = cmp.Or(c.MaxPending, 4096)
	c.CommitTimeout = cmp.Or(c.CommitTimeout, 5*time.Second)
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, 5*time.Second)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 15*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 2*time.Minute)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, 10*time.Second)
	c.IdempotencyWindow = cmp.Or(c.IdempotencyWindow, store.DuplicateFor)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// check reports every problem of a Config that has its defaults.
func (c *Config) check() error {
	var problems []error
	report := func(wrong bool, field, reason string) {
		if wrong {
			problems = append(problems, fmt.Errorf("collector: Config.%s: %s", field, reason))
		}
	}
	report(c.Store == nil, "Store", "is missing: open one, such as that of package sqlite")
	report(c.PublicURL != "" && !isPublicURL(c.PublicURL), "PublicURL", "must be http or https and a host, without path, such as https://stats.example.com")
	report(c.Retention < 0, "Retention", "is negative")
	report(math.IsNaN(c.KeyRate), "KeyRate", "is not a number")
	report(c.KeyBurst < 0, "KeyBurst", "is negative")
	report(!(c.BrowserRate > 0), "BrowserRate", "is not above zero")
	report(c.BrowserBurst < 0, "BrowserBurst", "is negative")
	report(c.MaxPending < 0, "MaxPending", "is negative")
	report(c.IdempotencyWindow < store.MinDuplicateFor || c.IdempotencyWindow > store.MaxDuplicateFor,
		"IdempotencyWindow", fmt.Sprintf("is %v, not from %v to %v", c.IdempotencyWindow, store.MinDuplicateFor, store.MaxDuplicateFor))
	for field, d := range map[string]time.Duration{
		"CommitTimeout": c.CommitTimeout, "HeaderTimeout": c.HeaderTimeout, "ReadTimeout": c.ReadTimeout,
		"WriteTimeout": c.WriteTimeout, "IdleTimeout": c.IdleTimeout, "ShutdownTimeout": c.ShutdownTimeout,
	} {
		report(d < 0, field, "is negative")
	}
	return errors.Join(problems...)
}

func isPublicURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && raw == u.Scheme+"://"+u.Host
}
