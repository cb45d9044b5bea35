package footfall

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/env"
	"github.com/footfall-dev/footfall/internal/pii"
)

// Config configures a [Tracker]. The zero value of a field means its default. [New] copies the
// Config, so later changes have no effect.
type Config struct {
	// BaseURL is the address of the Site Analytics API without /v1: scheme, host and an
	// optional path. New refuses plain http unless the host is loopback or AllowHTTP is set.
	// Required, unless Transport is set.
	BaseURL string

	// APIKey is the account's API key, sent as a bearer token. It never appears in a log, an
	// error or the printed form of a Config; SECURITY.md names two exceptions, HTTPClient and
	// https through a proxy. Printing a struct that holds a Config in an unexported field does
	// reveal it, because fmt calls no methods there: keep the Tracker, not the Config.
	// Required, unless Transport is set.
	APIKey string `json:"-"`

	// SiteID is the site of events for which neither [Event.SiteID], nor [Rule.SiteID], nor the
	// context ([WithSite]) names one. It is the id of a site of the API, not a domain, and has no
	// white space. [Tracker.Check] finds out whether the site exists: the API rejects every event of
	// one that does not. Required.
	SiteID string

	// DefaultURL is the URL of events that have no page, such as events of background jobs. It
	// is absolute, http or https. Without it, Track returns [ErrNoURL] for such events.
	// Defaults to none.
	DefaultURL string

	// PublicURL replaces scheme and host of pages taken from requests, for applications behind
	// a proxy that has a fixed public address, such as https://shop.example.com. Its path is
	// prepended to the path of the request. Defaults to the request's own host.
	PublicURL string

	// Hosts lists the hosts that pages taken from requests may have if PublicURL is not set. An
	// entry is a name or an address with an optional port, or "*.example.com" for all hosts
	// below a domain. The first entry, which must not begin with "*", replaces every other
	// host. The client chooses the host of its request: without Hosts or PublicURL, any client
	// can make events on pages of foreign hosts. URLs in a Referer or in PageHeader are ignored
	// if their host is not listed. An empty list allows all hosts. Defaults to none.
	Hosts []string

	// Props are props of every event, such as the version of the application. Props of the context ([WithProps]) and
	// of the event itself with the same key take precedence. They are encoded once. Defaults to none.
	Props []Prop

	// LandingProp is the key of a prop with the path of the landing page of the visit, for events below a context with
	// a touch ([WithTouch]). Defaults to none.
	LandingProp string

	// Page selects the page of events for which neither [Event.URL] nor the context ([WithURL])
	// names one. It applies to rules, [Track] and [Tracker.TrackRequest]. Defaults to PagePath.
	Page PageSource

	// PageHeader names a request header that contains the URL of the client's page, for
	// single-page applications that call an API of another origin: their Referer contains only
	// the origin. The URL takes precedence over Page if it is absolute, http or https, and its
	// host is listed in Hosts, which PageHeader requires. Defaults to none.
	PageHeader string

	// TrustedProxies lists the addresses of proxies whose X-Forwarded-Proto and
	// X-Forwarded-Host are trusted if PublicURL is not set. Any client can send those headers,
	// so list only your own proxies. Of several entries in a header, the last one is used,
	// which the proxy added; behind a chain of proxies set PublicURL. Some proxies, such as
	// nginx by default, pass on the client's headers: configure each proxy to set both headers.
	// Defaults to none.
	TrustedProxies []netip.Prefix

	// QueryKeys lists the query keys that pages taken from requests keep. An entry that ends
	// with * is a prefix. All other keys are removed, because they carry tokens and personal
	// data. An empty, non-nil slice removes all. Defaults to utm_*, ref, source.
	QueryKeys []string

	// Skip returns true for requests that no [Rule] applies to. It runs after the handler, on
	// the request's goroutine. It does not affect events that handlers track. If Skip panics,
	// the request makes no event and the panic is logged. If it calls runtime.Goexit, the same
	// happens and the request's goroutine ends: net/http closes the connection, may not send
	// the end of the answer, and does not see a panic of the handler. Defaults to skipping
	// nothing.
	Skip func(*http.Request) bool

	// NoContextValue keeps the middleware from adding a value to the context of each request,
	// which saves a copy of the request. The function [Track] then finds no tracker;
	// [Tracker.TrackRequest] works as before.
	NoContextValue bool

	// BeforeSend is called with each event before it is queued, and returns the event to queue, or false to drop it:
	// Track then returns nil, and Stats.Filtered counts it. The event has its site, its URL, with personal data
	// replaced in what was taken from a request, and all its props. What BeforeSend returns is checked and guarded like
	// any event. It runs on the goroutine of Track, several at once, and must not call Track. If it panics, the event is
	// not queued: Track returns an error, and Stats.Invalid counts it. Without BeforeSend, Track costs no more. Defaults to none.
	BeforeSend func(Event) (changed Event, send bool)

	// MaxQueueEvents bounds the events that are accepted and not settled yet. Events of typical
	// size, about 200 bytes, reach it before MaxQueueBytes. Defaults to 50,000.
	MaxQueueEvents int

	// MaxQueueBytes bounds the encoded size of those events in bytes. Defaults to 16 MiB.
	MaxQueueBytes int

	// MaxEventBytes bounds the encoded size of one event; Track refuses a larger one. Below 8
	// KiB, a long URL or path of a request may make its event too large. At least 256. Defaults to
	// 32 KiB.
	MaxEventBytes int

	// Limits bounds the fields of an event. Defaults to the limits of this project's collector.
	Limits Limits

	// DropOldest makes room in a full queue by dropping the oldest event that is not in flight.
	// Stats.Dropped counts it. Defaults to refusing the new event with ErrQueueFull.
	DropOldest bool

	// BatchSize is the number of waiting events that are sent before FlushInterval has passed.
	// Defaults to 100.
	BatchSize int

	// FlushInterval is the longest time that an event waits for others before it is sent. The
	// first event after a pause of that length is sent at once; events that follow within the
	// interval are sent together at its end. A process that is killed loses waiting events. A
	// longer interval saves processor time, because Track wakes the sending goroutine less
	// often and requests overlap. Defaults to 20ms.
	FlushInterval time.Duration

	// MaxInFlight bounds the concurrent requests. The tracker starts one sender for as many
	// waiting events as a sender delivers within FlushInterval, 1 to 8. At most 4,096.
	// Defaults to 64.
	MaxInFlight int

	// AttemptTimeout bounds one attempt, from connecting to the end of the answer. Defaults to
	// 5s.
	AttemptTimeout time.Duration

	// BackoffMin bounds the first wait after an answer that means "retry later". A wait is
	// random between zero and its bound, which doubles with each consecutive failure. Defaults
	// to 500ms.
	BackoffMin time.Duration

	// BackoffMax is the largest bound of that wait. Defaults to 15s.
	BackoffMax time.Duration

	// MaxRetryAfter limits the Retry-After of an answer; a longer one is shortened. Defaults to
	// 5m.
	MaxRetryAfter time.Duration

	// ProbeMin bounds the first wait between probes while the API refuses the key, or something
	// other than the API answers at BaseURL. A wait is at least half its bound, which doubles
	// with each probe. Defaults to 30s.
	ProbeMin time.Duration

	// ProbeMax is the largest bound of that wait. Defaults to 5m.
	ProbeMax time.Duration

	// ShutdownTimeout bounds how long [Tracker.Run] waits for the server to answer requests in
	// progress. Run then closes their connections. The sum of ShutdownTimeout, CloseTimeout and
	// one second must be less than the time that the process has to end: in Kubernetes
	// terminationGracePeriodSeconds, 30 s by default. Defaults to 10s.
	ShutdownTimeout time.Duration

	// CloseTimeout bounds the call to [Tracker.Close] that [Tracker.Run] makes after the server
	// has stopped. Defaults to 10s.
	CloseTimeout time.Duration

	// AllowPII turns off the guard that replaces values that look like personal data by
	// "[redacted]". In paths of requests, the guard replaces segments that contain an e-mail
	// address or look like a token, and segments of wildcards with a secret's name, such as
	// {token} and {key}. If the route is known, the replacement is the name of the wildcard in
	// braces. Defaults to false: the guard is on.
	AllowPII bool

	// AllowPIIKeys lists keys of props and names of wildcards that the guard ignores, such as a
	// version that looks like an IP address, or a product id that looks like a token. Defaults
	// to none.
	AllowPIIKeys []string

	// AllowHTTP permits a BaseURL with plain http on a host other than loopback. The key is
	// then sent in clear.
	AllowHTTP bool

	// HTTPClient sends the requests. Its CheckRedirect is replaced: redirects are never
	// followed. Its transport is used unchanged: an http.Transport logs unsolicited data that a
	// server sends on an idle connection, even if it contains the API key. Defaults to a client
	// that speaks HTTP/1.1 and keeps MaxInFlight idle connections.
	HTTPClient *http.Client

	// Transport carries the events in place of HTTP. BaseURL, APIKey and the fields about
	// requests are then not used. Defaults to HTTP.
	Transport Transport

	// Logger receives a line when an outage, a refused key or a loss of events begins, and when
	// it ends; at most one a minute about events that Track or the API refused; one if Close has
	// lost events; and one an hour for each key whose values are redacted. There are none per
	// event, and none once Close has returned. Goroutines of the tracker write the lines, never the
	// caller of Track. A handler that panics or calls runtime.Goexit loses the line and nothing
	// else. A handler that blocks holds its goroutine for a second; up to 64 later lines wait, and
	// the others are counted. Defaults to slog.Default().
	Logger *slog.Logger

	// OnRejected is called for each accepted event that the API refused for good. Goroutines of
	// the tracker call it concurrently. It should return soon, and must not call Flush or Close,
	// because they wait for the event. A panic or runtime.Goexit in it is logged, at most once a
	// minute. The tracker waits at most a tenth of a second for a call, and not at all while an
	// earlier call takes longer; Close does not wait for such calls. While 64 such calls are in
	// progress, refused events are counted in a line of the log instead. Defaults to such a
	// line, at most one a minute.
	OnRejected func(*RejectedError)

	// Disabled makes the tracker do nothing: Track returns nil. All other fields are ignored,
	// except that Run serves and uses ShutdownTimeout.
	Disabled bool

	environment error // what ConfigFromEnv could not read
	unset       bool  // ConfigFromEnvOrDisabled found no variable
}

// ConfigFromEnv returns a Config with fields from environment variables:
//
//	FOOTFALL_BASE_URL         BaseURL
//	FOOTFALL_API_KEY          APIKey
//	FOOTFALL_SITE_ID          SiteID
//	FOOTFALL_DEFAULT_URL      DefaultURL
//	FOOTFALL_PUBLIC_URL       PublicURL
//	FOOTFALL_TRUSTED_PROXIES  TrustedProxies, addresses and prefixes separated by commas
//	FOOTFALL_ALLOW_HTTP       AllowHTTP, true or false
//	FOOTFALL_DISABLED         Disabled, true or false
//
// [New] reports required fields that are missing, and variables whose value cannot be read. See
// [ConfigFromEnvOrDisabled] for an application that also runs without them.
func ConfigFromEnv() Config {
	var p problems
	e := env.Reader{Report: func(name, reason string) { p = append(p, &FieldError{name, reason}) }}
	cfg := Config{
		BaseURL:        os.Getenv("FOOTFALL_BASE_URL"),
		APIKey:         os.Getenv("FOOTFALL_API_KEY"),
		SiteID:         os.Getenv("FOOTFALL_SITE_ID"),
		DefaultURL:     e.Text("FOOTFALL_DEFAULT_URL", checkURL),
		PublicURL:      e.Text("FOOTFALL_PUBLIC_URL", checkPublicURL),
		TrustedProxies: e.Prefixes("FOOTFALL_TRUSTED_PROXIES"),
		AllowHTTP:      e.Bool("FOOTFALL_ALLOW_HTTP"),
		Disabled:       e.Bool("FOOTFALL_DISABLED"),
	}
	cfg.environment = errors.Join(p...)
	return cfg
}

// ConfigFromEnvOrDisabled is [ConfigFromEnv] for an application that also runs without analytics,
// such as on the machines of its developers. If the environment has no variable whose name begins
// with FOOTFALL_, the Config is Disabled, and [New] logs a line that says so. With any such
// variable, even an empty one, New reports the required fields that are missing, as with
// ConfigFromEnv.
//
// A production environment that lacks all variables is then silent except for that line. Use
// ConfigFromEnv where events must not be missing.
func ConfigFromEnvOrDisabled() Config {
	if env.HasPrefix("FOOTFALL_") {
		return ConfigFromEnv()
	}
	return Config{Disabled: true, unset: true}
}

// defaultShutdownTimeout applies also to a nil tracker, which has no Config.
const defaultShutdownTimeout = 10 * time.Second

func (c Config) withDefaults() Config {
	if c.QueryKeys == nil {
		c.QueryKeys = []string{"utm_*", "ref", "source"}
	}
	c.MaxQueueEvents = cmp.Or(c.MaxQueueEvents, 50_000)
	c.MaxQueueBytes = cmp.Or(c.MaxQueueBytes, 16<<20)
	c.MaxEventBytes = cmp.Or(c.MaxEventBytes, defaultEventBytes)
	c.Limits = c.Limits.withDefaults()
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

// check reports every problem of a tracker's Config whose defaults are set.
func (c *Config) check() error {
	p := problems{c.environment}
	if c.Transport == nil {
		c.checkAPI(p.report)
	}
	p.report("SiteID", checkSiteID(c.SiteID))
	if c.DefaultURL != "" {
		p.report("DefaultURL", checkDefaultURL(c.DefaultURL, c.Limits.URL))
	}
	if c.PublicURL != "" {
		p.report("PublicURL", checkPublicURL(c.PublicURL))
	}
	c.checkPages(p.report)
	c.checkQueue(p.report)
	c.checkDelivery(p.report)
	if c.LandingProp != "" {
		e := newEncoder("", "", c.MaxEventBytes, c.Limits, pii.New(c.AllowPII, c.AllowPIIKeys))
		e.checkFixed([]Prop{P(c.LandingProp, "/")}, func(reason string) { p.report("LandingProp", reason) })
	}
	if len(c.Props) > 0 {
		e := newEncoder("", "", c.MaxEventBytes, c.Limits, pii.New(c.AllowPII, c.AllowPIIKeys))
		e.checkFixed(c.Props, func(reason string) { p.report("Props", reason) })
	}
	return errors.Join(p...)
}

// checkTransport reports every problem of the Config of a transport that has no tracker. If api is
// true, it uses the API.
func (c *Config) checkTransport(api bool) error {
	p := problems{c.environment}
	if api {
		c.checkAPI(p.report)
	}
	c.checkDelivery(p.report)
	return errors.Join(p...)
}

func (c *Config) checkAPI(report func(field, reason string)) {
	report("BaseURL", checkBaseURL(c.BaseURL, c.AllowHTTP))
	report("APIKey", checkKey(c.APIKey))
}

func (c *Config) checkPages(report func(field, reason string)) {
	for i, host := range c.Hosts {
		name, wild := strings.CutPrefix(host, "*.")
		switch {
		case !isHost(name):
			report("Hosts", strconv.Quote(host)+" is not a host: omit scheme and path")
		case wild && i == 0:
			report("Hosts", "begins with a wildcard: the first entry replaces hosts that are not listed")
		}
	}
	if !c.Page.valid() {
		report("Page", "not one of PagePath, PageRoute and PageReferer")
	}
	if c.PageHeader != "" && !chars.IsToken(c.PageHeader) {
		report("PageHeader", "not the name of a header")
	}
	if c.PageHeader != "" && len(c.Hosts) == 0 {
		report("PageHeader", "requires Hosts, because otherwise a client could name any page")
	}
}

func (c *Config) checkQueue(report func(field, reason string)) {
	c.Limits.check(c.MaxEventBytes, report)
	report("MaxQueueEvents", checkCount(c.MaxQueueEvents, math.MaxInt))
	report("MaxQueueBytes", checkCount(c.MaxQueueBytes, maxBytes))
	report("MaxEventBytes", checkEventBytes(c.MaxEventBytes))
	report("BatchSize", checkCount(c.BatchSize, math.MaxInt))
	report("ShutdownTimeout", checkDuration(c.ShutdownTimeout))
	report("CloseTimeout", checkDuration(c.CloseTimeout))
	if defaults := (Config{}).withDefaults(); c.MaxQueueBytes < c.MaxEventBytes {
		report("MaxQueueBytes", lessThan(c.MaxQueueBytes, defaults.MaxQueueBytes, "MaxEventBytes", c.MaxEventBytes, defaults.MaxEventBytes)+
			": the largest event could never be queued")
	}
}

// checkDelivery checks the fields that a transport uses, with or without a tracker.
func (c *Config) checkDelivery(report func(field, reason string)) {
	report("MaxInFlight", checkCount(c.MaxInFlight, maxInFlight))
	report("FlushInterval", checkDuration(c.FlushInterval))
	report("AttemptTimeout", checkDuration(c.AttemptTimeout))
	report("BackoffMin", checkDuration(c.BackoffMin))
	report("BackoffMax", checkDuration(c.BackoffMax))
	report("MaxRetryAfter", checkDuration(c.MaxRetryAfter))
	report("ProbeMin", checkDuration(c.ProbeMin))
	report("ProbeMax", checkDuration(c.ProbeMax))
	defaults := Config{}.withDefaults()
	if c.BackoffMax < c.BackoffMin {
		report("BackoffMax", lessThan(c.BackoffMax, defaults.BackoffMax, "BackoffMin", c.BackoffMin, defaults.BackoffMin))
	}
	if c.ProbeMax < c.ProbeMin {
		report("ProbeMax", lessThan(c.ProbeMax, defaults.ProbeMax, "ProbeMin", c.ProbeMin, defaults.ProbeMin))
	}
}

// lessThan is the reason for a value that is less than the value of another field. The application may
// have set only one of them, so the reason names both values.
func lessThan[T comparable](value, byDefault T, other string, than, otherByDefault T) string {
	return valueOf(value, byDefault) + " is less than " + other + ", which is " + valueOf(than, otherByDefault)
}

// valueOf prints the value of a field, and whether it is the default.
func valueOf[T comparable](value, byDefault T) string {
	if value == byDefault {
		return fmt.Sprintf("%v (the default)", value)
	}
	return fmt.Sprint(value)
}

const (
	// maxInFlight bounds Config.MaxInFlight: each request in flight needs a connection, and the
	// tracker sets some bytes aside for each that may be. No account needs as many.
	maxInFlight = 4096

	// maxBytes bounds the bounds in bytes: no computer has as much memory.
	maxBytes = min(1<<40, math.MaxInt)

	// defaultEventBytes is the default of MaxEventBytes.
	defaultEventBytes = 32 << 10

	// leastEventBytes is the least Config.MaxEventBytes. An event has a site, a name and a URL.
	leastEventBytes = 256

	// maxDuration bounds all durations, because sums and multiples of them must not overflow.
	maxDuration = 365 * 24 * time.Hour
)

func checkDefaultURL(raw string, limit int) string {
	if len(raw) > limit {
		return fmt.Sprintf("longer than %d bytes (Config.Limits.URL)", limit)
	}
	return checkURL(raw)
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
		return "must be a scheme, a host and a path in ASCII, without a query"
	}
	return ""
}

// Format prints the Config without its API key, whatever the verb.
func (c Config) Format(state fmt.State, _ rune) {
	fmt.Fprintf(state, "footfall.Config{BaseURL: %q, SiteID: %q, APIKey: %s}", c.BaseURL, c.SiteID, masked(c.APIKey))
}

// LogValue keeps the API key out of structured logs.
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// MarshalJSON leaves out the API key, and functions, which JSON cannot represent.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(c)) }

func masked(key string) string {
	if key == "" {
		return "none"
	}
	return "[set]"
}
