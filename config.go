package footfall

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/internal/chars"
)

// Config configures a Tracker. The zero value of a field means its default. New
// copies what it needs: changing a Config afterwards changes nothing.
type Config struct {
	// BaseURL is where the Site Analytics API is, without the /v1: scheme, host
	// and perhaps a path. Plain http is refused unless the host is loopback or
	// AllowHTTP is set. Required, unless Transport is set.
	BaseURL string

	// APIKey is the account's API key, sent as a bearer token. It never appears
	// in a log, an error or the printed form of a Config (SECURITY.md has two
	// exceptions: HTTPClient, and https through a proxy); but in that of a struct
	// that has a Config in an unexported field, where fmt asks no methods: keep
	// the Tracker, not the Config. Required, unless Transport is set.
	APIKey string `json:"-"`

	// SiteID is the site of the events for which neither [Event.SiteID], nor
	// [Rule.SiteID], nor the context ([WithSite]) names one: the id of the API's
	// sites, not a domain. Required.
	SiteID string

	// DefaultURL is the URL of events tracked where no page is known, such as
	// in background jobs: absolute, http or https. Defaults to none, which
	// makes Track return ErrNoURL there.
	DefaultURL string

	// PublicURL replaces scheme and host of pages taken from requests, for
	// applications behind a proxy whose public address never changes, such as
	// https://shop.example.com. A path in it is put before that of the request.
	// Defaults to the request's own host.
	PublicURL string

	// Hosts lists the hosts that pages taken from requests may have, where PublicURL is not
	// set: names or addresses with or without a port, or "*.example.com" for all below a
	// domain. Pages of other hosts get the first entry in place of their host, which must
	// not begin with "*". The host in a request is the client's choice; without a list or
	// PublicURL anybody can make events on pages of foreign hosts. The URLs in a Referer and
	// in PageHeader are not used if their host is not listed. An empty list allows all hosts. Defaults to
	// none.
	Hosts []string

	// Page is the page of events for which neither [Event.URL] nor the context ([WithURL])
	// names one. It holds for rules, [Track] and [Tracker.TrackRequest] alike. Defaults to
	// PagePath.
	Page PageSource

	// PageHeader names a header in which a client says the URL of its page, for single-page
	// applications that call an API of another origin: their Referer has the origin only.
	// The URL takes the place of Page if it is absolute, http or https, and its host is one
	// of Hosts, which PageHeader requires. Defaults to none.
	PageHeader string

	// TrustedProxies lists the addresses whose X-Forwarded-Proto and
	// X-Forwarded-Host are believed when PublicURL is not set. Anybody can send
	// those headers, so list only your own proxies. Of several entries the last is
	// taken, which the proxy itself added; behind a chain of proxies set PublicURL.
	// A proxy that does not set these headers passes on the client's, as nginx does
	// by default: make each proxy listed here set both. Defaults to none.
	TrustedProxies []netip.Prefix

	// QueryKeys lists the query keys that pages taken from requests keep; an
	// entry ending in * is a prefix. All others are removed, for they carry
	// tokens and personal data. An empty, non-nil slice removes all.
	// Defaults to utm_*, ref, source.
	QueryKeys []string

	// Skip leaves out requests for which it returns true: no Rule applies to
	// them. It runs after the handler, on the request's goroutine. Events that handlers
	// track themselves are not affected. A request for which it panics makes no event;
	// the log is told. runtime.Goexit in it does the same, and ends the request's
	// goroutine: net/http closes the connection and may not send the end of the answer,
	// and a panic of the handler goes no further. Defaults to skipping nothing.
	Skip func(*http.Request) bool

	// NoContextValue keeps the middleware from adding a value to the context of
	// each request, which saves a copy of the request. The function Track then
	// finds no tracker; Tracker.TrackRequest works as before.
	NoContextValue bool

	// MaxQueueEvents bounds the events accepted and not settled yet, waiting or
	// on their way. Those of usual size, some 200 bytes, reach it before
	// MaxQueueBytes. Defaults to 50,000.
	MaxQueueEvents int

	// MaxQueueBytes bounds the bytes of those events, encoded. Defaults to
	// 16 MiB.
	MaxQueueBytes int

	// MaxEventBytes bounds one encoded event; Track refuses a larger one. Below 8 KiB, a
	// long URL or path of a request may make its event too large.
	// Defaults to 32 KiB.
	MaxEventBytes int

	// DropOldest makes room in a full queue by dropping the oldest event that
	// is not on its way, counted in Stats.Dropped. Defaults to refusing the new
	// event with ErrQueueFull.
	DropOldest bool

	// BatchSize is the number of waiting events that are sent without waiting
	// for FlushInterval to end. Defaults to 100.
	BatchSize int

	// FlushInterval is the longest an event waits for others before it is sent. The
	// first event after a pause of that length is sent at once; those that follow
	// within the interval are sent at its end, together. A process that is killed
	// loses what waits; a longer interval saves processor time, because Track then
	// wakes the sending goroutine less often and requests overlap. Defaults to 20ms.
	FlushInterval time.Duration

	// MaxInFlight bounds the requests under way. One is used for as many events
	// as it delivers within FlushInterval, at least 1 and at most 8, that are
	// waiting. Defaults to 64.
	MaxInFlight int

	// AttemptTimeout bounds one attempt, from connecting to the end of the
	// answer. Defaults to 5s.
	AttemptTimeout time.Duration

	// BackoffMin bounds the first wait after an answer that means "not now". A
	// wait is drawn at random between zero and its bound, which doubles with
	// each failure in a row. Defaults to 500ms.
	BackoffMin time.Duration

	// BackoffMax is where that bound stops doubling. Defaults to 15s.
	BackoffMax time.Duration

	// MaxRetryAfter is the longest Retry-After that is believed. Defaults to 5m.
	MaxRetryAfter time.Duration

	// ProbeMin bounds the first wait between probes while the key is refused or
	// BaseURL leads to something else than the API. A wait is at least half its
	// bound, which doubles with each probe. Defaults to 30s.
	ProbeMin time.Duration

	// ProbeMax is where that bound stops doubling. Defaults to 5m.
	ProbeMax time.Duration

	// ShutdownTimeout bounds how long [Tracker.Run] waits for the server to answer the requests
	// under way, before it closes their connections. ShutdownTimeout, CloseTimeout and a second
	// must be less than the time that a process has to end: in Kubernetes
	// terminationGracePeriodSeconds, which is 30 s by default. Defaults to 10s.
	ShutdownTimeout time.Duration

	// CloseTimeout bounds the call to [Tracker.Close] by [Tracker.Run], which begins when the
	// server has stopped. Defaults to 10s.
	CloseTimeout time.Duration

	// AllowPII turns off the guard that replaces values which look like
	// personal data by "[redacted]". In paths of requests it replaces segments that have an
	// e-mail address or look like a token, and those of wildcards whose name says that they
	// are secrets, such as {token} and {key}: by the name of the wildcard in braces, where
	// the route is known. Defaults to false: the guard is on.
	AllowPII bool

	// AllowPIIKeys lists keys of props and names of wildcards that the guard leaves alone,
	// such as a version that looks like an IP address, or a product's id that looks like
	// a token. Defaults to none.
	AllowPIIKeys []string

	// AllowHTTP permits a BaseURL that is plain http on a host other than
	// loopback, which sends the key in clear.
	AllowHTTP bool

	// HTTPClient sends the requests. Its CheckRedirect is replaced: redirects
	// are never followed. Its transport is left alone: an http.Transport prints what
	// a server sends unasked on an idle connection, also if it repeats the API key.
	// Defaults to a client of its own that speaks HTTP/1.1
	// and keeps MaxInFlight idle connections.
	HTTPClient *http.Client

	// Transport carries the events in place of HTTP; BaseURL, APIKey and what
	// concerns requests are then not used. Defaults to HTTP.
	Transport Transport

	// Logger is told about outages, a refused key and events that were not
	// accepted: a line when it begins and when it ends, none per event, and none
	// once Close has returned. A handler that panics or calls runtime.Goexit loses
	// the line and nothing else. A handler that blocks holds the goroutine that logs for
	// a second; later lines wait, up to 64 of them, and the others are counted. Track
	// never logs. Defaults to slog.Default().
	Logger *slog.Logger

	// OnError is called with a *RejectedError for each accepted event that the
	// API refused for good. It is called from goroutines of the tracker, several at
	// once, should return soon, and must not call Flush or Close, which wait for
	// the event it is told of. A panic or runtime.Goexit in it is logged, at most once a
	// minute. The tracker waits for a call for a second at most, and not at all while an
	// earlier call takes longer; Close does not wait for such calls either. While 64 such
	// calls are in progress, events that the API refuses are counted in a line of the
	// log instead. Defaults to such a line, at most one a minute.
	OnError func(error)

	// Disabled makes the tracker do nothing: Track returns nil, and no other
	// field is looked at, except ShutdownTimeout by Run, which serves all the same.
	Disabled bool
}

// ConfigFromEnv returns a Config with BaseURL, APIKey and SiteID from the
// environment variables FOOTFALL_BASE_URL, FOOTFALL_API_KEY and FOOTFALL_SITE_ID.
// New reports what is missing.
func ConfigFromEnv() Config {
	return Config{
		BaseURL: os.Getenv("FOOTFALL_BASE_URL"),
		APIKey:  os.Getenv("FOOTFALL_API_KEY"),
		SiteID:  os.Getenv("FOOTFALL_SITE_ID"),
	}
}

func (c Config) withDefaults() Config {
	if c.QueryKeys == nil {
		c.QueryKeys = []string{"utm_*", "ref", "source"}
	}
	c.MaxQueueEvents = cmp.Or(c.MaxQueueEvents, 50_000)
	c.MaxQueueBytes = cmp.Or(c.MaxQueueBytes, 16<<20)
	c.MaxEventBytes = cmp.Or(c.MaxEventBytes, 32<<10)
	c.BatchSize = cmp.Or(c.BatchSize, 100)
	c.FlushInterval = cmp.Or(c.FlushInterval, 20*time.Millisecond)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 64)
	c.AttemptTimeout = cmp.Or(c.AttemptTimeout, 5*time.Second)
	c.BackoffMin = cmp.Or(c.BackoffMin, 500*time.Millisecond)
	c.BackoffMax = cmp.Or(c.BackoffMax, 15*time.Second)
	c.MaxRetryAfter = cmp.Or(c.MaxRetryAfter, 5*time.Minute)
	c.ProbeMin = cmp.Or(c.ProbeMin, 30*time.Second)
	c.ProbeMax = cmp.Or(c.ProbeMax, 5*time.Minute)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, defaultShutdownTimeout)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// check reports every problem of a Config that has its defaults.
func (c *Config) check() error {
	var problems []error
	report := func(field, reason string) {
		problems = append(problems, configError(field, reason))
	}
	if c.Transport == nil {
		report("BaseURL", checkBaseURL(c.BaseURL, c.AllowHTTP))
		report("APIKey", checkKey(c.APIKey))
	}
	report("SiteID", checkSiteID(c.SiteID))
	if c.DefaultURL != "" {
		report("DefaultURL", checkURL(c.DefaultURL))
	}
	if c.PublicURL != "" {
		report("PublicURL", checkPublicURL(c.PublicURL))
	}
	c.checkPages(report)
	c.checkNumbers(report)
	return errors.Join(problems...)
}

func (c *Config) checkPages(report func(field, reason string)) {
	for i, host := range c.Hosts {
		name, wild := strings.CutPrefix(host, "*.")
		switch {
		case !isHost(name):
			report("Hosts", strconv.Quote(host)+" is not a host: write it without scheme and path")
		case wild && i == 0:
			report("Hosts", "begins with a wildcard: the first entry takes the place of other hosts")
		}
	}
	if !c.Page.valid() {
		report("Page", "not one of PagePath, PageRoute and PageReferer")
	}
	switch {
	case c.PageHeader == "":
	case !chars.IsToken(c.PageHeader):
		report("PageHeader", "not the name of a header")
	case len(c.Hosts) == 0:
		report("PageHeader", "needs Hosts: any client could name any page")
	}
}

func (c *Config) checkNumbers(report func(field, reason string)) {
	positive := func(field string, n int64) { report(field, checkPositive(n)) }
	positive("MaxQueueEvents", int64(c.MaxQueueEvents))
	positive("MaxQueueBytes", int64(c.MaxQueueBytes))
	positive("MaxEventBytes", int64(c.MaxEventBytes))
	positive("BatchSize", int64(c.BatchSize))
	positive("FlushInterval", int64(c.FlushInterval))
	positive("MaxInFlight", int64(c.MaxInFlight))
	positive("AttemptTimeout", int64(c.AttemptTimeout))
	positive("BackoffMin", int64(c.BackoffMin))
	positive("BackoffMax", int64(c.BackoffMax))
	positive("MaxRetryAfter", int64(c.MaxRetryAfter))
	positive("ProbeMin", int64(c.ProbeMin))
	positive("ProbeMax", int64(c.ProbeMax))
	positive("ShutdownTimeout", int64(c.ShutdownTimeout))
	positive("CloseTimeout", int64(c.CloseTimeout))
	if c.MaxQueueBytes < c.MaxEventBytes {
		report("MaxQueueBytes", "less than MaxEventBytes, so the largest event could never be queued")
	}
	if c.BackoffMax < c.BackoffMin {
		report("BackoffMax", "less than BackoffMin")
	}
	if c.ProbeMax < c.ProbeMin {
		report("ProbeMax", "less than ProbeMin")
	}
}

// configError returns nil if there is no reason for one.
func configError(field, reason string) error {
	if reason == "" {
		return nil
	}
	return &FieldError{"Config." + field, reason}
}

// checkPositive is for numbers whose zero was replaced by the default.
func checkPositive(n int64) string {
	if n < 0 {
		return "negative"
	}
	return ""
}

func checkBaseURL(raw string, allowHTTP bool) string {
	if raw == "" {
		return "empty: set it to the address of the Site Analytics API (FOOTFALL_BASE_URL)"
	}
	if reason := checkURL(raw); reason != "" {
		return reason
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "not a URL"
	}
	path := strings.TrimRight(u.Path, "/")
	switch {
	case strings.ContainsAny(raw, "?#"):
		return "has a query or a fragment"
	case strings.HasSuffix(path, "/v1"), strings.HasSuffix(path, "/v1/events"), strings.HasSuffix(path, "/v1/sites"):
		return "has the path of the API in it: leave out /v1 and what follows"
	case u.Scheme == "http" && !allowHTTP && !isLoopback(u.Hostname()):
		return "plain http would send the API key in clear: use https, or set AllowHTTP"
	}
	return ""
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkKey never repeats the key.
func checkKey(key string) string {
	if key == "" {
		return "empty: set it to an API key of the account (FOOTFALL_API_KEY)"
	}
	if first := key[0]; first == '"' || first == '\'' {
		return "begins with a quotation mark"
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] >= 0x7f {
			return "has a blank, a line break or a character that an HTTP header can't carry"
		}
	}
	return ""
}

func checkSiteID(id string) string {
	if strings.TrimSpace(id) == "" {
		return "empty: set it to the id of a site of the account (FOOTFALL_SITE_ID)"
	}
	_, err := appendHead(nil, id)
	if bad, ok := errors.AsType[*FieldError](err); ok {
		return bad.Reason
	}
	return ""
}

func checkPublicURL(raw string) string {
	if reason := checkURL(raw); reason != "" {
		return reason
	}
	rest, _ := cutScheme(raw)
	host, path, _ := strings.Cut(rest, "/")
	if len(raw) > maxPageURL/2 {
		return "longer than 1024 bytes"
	}
	if !isHost(host) || !chars.IsURL(path) || strings.Contains(path, "?") {
		return "may have only scheme, host and path, of plain characters"
	}
	return ""
}

// Format prints the Config without its API key, whatever the verb.
func (c Config) Format(state fmt.State, _ rune) {
	fmt.Fprintf(state, "footfall.Config{BaseURL: %q, SiteID: %q, APIKey: %s}", c.BaseURL, c.SiteID, masked(c.APIKey))
}

// LogValue keeps the API key out of structured logs.
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// MarshalJSON keeps functions, which JSON cannot say, and the API key out.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(c)) }

func masked(key string) string {
	if key == "" {
		return "none"
	}
	return "[set]"
}
