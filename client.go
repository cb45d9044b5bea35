package footfall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/footfall-dev/footfall/internal/envelope"
	"github.com/footfall-dev/footfall/internal/pii"
	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/wire"
)

// Site is a registered site of the account (contract, section Site).
type Site struct {
	ID        string    `json:"id"`         // unique, never changes
	Domain    string    `json:"domain"`     // as registered
	CreatedAt time.Time `json:"created_at"` // when the site was added

	// TrackingActive is false if the site has received no events recently, such as a new one, or if its
	// tracking is paused. The API does not say which. It may refuse the events of a paused site.
	TrackingActive bool `json:"tracking_active"`
}

// ClientConfig configures a [Client]. Its fields have the same meaning as the fields of the
// same name in [Config].
type ClientConfig struct {
	BaseURL string // required
	APIKey  string `json:"-"` // required

	// Timeout bounds one call, from connecting to the end of the answer.
	// Defaults to 30s.
	Timeout time.Duration

	MaxEventBytes int    // Defaults to 32 KiB.
	Limits        Limits // Defaults to the limits of this project's collector.
	AllowPII      bool
	AllowPIIKeys  []string
	AllowHTTP     bool
	HTTPClient    *http.Client
}

// Format prints the ClientConfig without its API key, whatever the verb.
func (c ClientConfig) Format(state fmt.State, _ rune) {
	fmt.Fprintf(state, "footfall.ClientConfig{BaseURL: %q, APIKey: %s}", c.BaseURL, masked(c.APIKey))
}

// Client calls the three operations of the API with one request each, without retries. Its
// methods may be called from several goroutines at once.
//
// An answer other than success is an [*APIError].
type Client struct {
	api     *wire.API
	encoder encoder
	timeout time.Duration
}

// NewClient checks cfg. It does no I/O.
func NewClient(cfg ClientConfig) (*Client, error) {
	timeout := cmp.Or(cfg.Timeout, 30*time.Second)
	eventBytes := cmp.Or(cfg.MaxEventBytes, defaultEventBytes)
	limits := cfg.Limits.withDefaults()
	var p problems
	p.report("BaseURL", checkBaseURL(cfg.BaseURL, cfg.AllowHTTP))
	p.report("APIKey", checkKey(cfg.APIKey))
	p.report("Timeout", checkDuration(timeout))
	p.report("MaxEventBytes", checkEventBytes(eventBytes))
	limits.check(eventBytes, p.report)
	if err := errors.Join(p...); err != nil {
		return nil, err
	}
	const idle = 4 // connections kept
	return &Client{
		api:     wire.New(cfg.BaseURL, cfg.APIKey, cfg.HTTPClient, idle),
		encoder: newEncoder("", "", eventBytes, limits, pii.New(cfg.AllowPII, cfg.AllowPIIKeys)),
		timeout: timeout,
	}, nil
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
		return "contains a query or a fragment"
	case strings.HasSuffix(path, "/v1"), strings.HasSuffix(path, "/v1/events"), strings.HasSuffix(path, "/v1/sites"):
		return "contains the path of the API: omit /v1 and everything after it"
	case u.Scheme == "http" && !allowHTTP && !isLoopback(u.Hostname()):
		return "plain http would send the API key in clear: use https, or set AllowHTTP (FOOTFALL_ALLOW_HTTP=true)"
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
			return "contains a space, a line break or another character that is not valid in an HTTP header"
		}
	}
	return ""
}

func checkSiteID(id string) string {
	if strings.TrimSpace(id) == "" {
		return "empty: set it to the id of a site of the account (FOOTFALL_SITE_ID)"
	}
	if strings.ContainsFunc(id, unicode.IsSpace) {
		return "contains white space: set it to the id of a site of the account alone (FOOTFALL_SITE_ID)"
	}
	if strings.Contains(id, "://") {
		return "is a URL: set it to the id of the site, which Tracker.Check finds (FOOTFALL_SITE_ID)"
	}
	_, err := appendHead(nil, id)
	if bad, ok := errors.AsType[*FieldError](err); ok {
		return bad.Reason
	}
	return ""
}

// checkCount checks a number whose zero was replaced by the default.
func checkCount(n, limit int) string {
	switch {
	case n < 0:
		return fmt.Sprintf("%d is negative; 0 is the default", n)
	case n > limit:
		return fmt.Sprintf("%d is more than %d", n, limit)
	}
	return ""
}

func checkEventBytes(n int) string {
	if n >= 0 && n < leastEventBytes {
		return fmt.Sprintf("%d is less than %d", n, leastEventBytes)
	}
	return checkCount(n, maxBytes)
}

// checkDuration checks a duration whose zero was replaced by the default.
func checkDuration(d time.Duration) string {
	switch {
	case d < 0:
		return fmt.Sprintf("%v is negative; 0 is the default", d)
	case d > maxDuration:
		return fmt.Sprintf("%v is more than a year", d)
	}
	return ""
}

// maxSites limits the bytes read from an answer to a GET. A list of 50,000 sites fits.
const maxSites = 16 << 20

// Sites returns the sites of the account (GET /v1/sites). It returns an error if the length of
// the list differs from the total in the answer.
func (c *Client) Sites(ctx context.Context) ([]Site, error) {
	var list struct {
		Data []site `json:"data"`
		Meta struct {
			Total *int `json:"total"`
		} `json:"meta"`
	}
	if err := c.get(ctx, "/v1/sites", &list); err != nil {
		return nil, err
	}
	if list.Data == nil || list.Meta.Total == nil {
		return nil, errors.New("footfall: sites: the answer lacks data or meta.total; check BaseURL")
	}
	if *list.Meta.Total != len(list.Data) {
		return nil, fmt.Errorf("footfall: sites: the API reports %d sites and sent %d", *list.Meta.Total, len(list.Data))
	}
	sites := make([]Site, len(list.Data))
	for i := range list.Data {
		var err error
		if sites[i], err = list.Data[i].typed(); err != nil {
			return nil, err
		}
	}
	return sites, nil
}

// Site returns one site (GET /v1/sites/{id}). If the account has no such site, the error
// matches [ErrNotFound].
func (c *Client) Site(ctx context.Context, id string) (Site, error) {
	if id == "" {
		return Site{}, &FieldError{"id", "empty"}
	}
	var one struct {
		Data *site `json:"data"`
	}
	if err := c.get(ctx, "/v1/sites/"+url.PathEscape(id), &one); err != nil {
		return Site{}, err
	}
	if one.Data == nil {
		return Site{}, errors.New("footfall: site: the answer lacks data; check BaseURL")
	}
	return one.Data.typed()
}

// Send records one event (POST /v1/events) and returns nil once the API has accepted it.
// SiteID, Name and URL are required. Calling Send again after an error may count the event
// twice, unless ID is set. A [Tracker] counts it once.
func (c *Client) Send(ctx context.Context, e Event) error {
	d := draft{siteID: e.SiteID, name: e.Name, url: e.URL, props: e.Props, id: e.ID}
	packed, _, err := c.encoder.append(nil, &d)
	if errors.Is(err, ErrNoURL) { // its advice is for a Tracker
		err = &FieldError{"url", "empty"}
	}
	if err != nil {
		return err
	}
	_, body := envelope.Split(packed)
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	a := c.api.Post(ctx, cmp.Or(e.ID, newID()), body, nil)
	if a.Verdict() == wire.Accepted {
		return nil
	}
	return failure(&a, "")
}

func newID() string { return queue.NewID(time.Now().UnixNano(), rand.Uint64()).String() }

// get fetches path and decodes the body of a 200 into into.
func (c *Client) get(ctx context.Context, path string, into any) error {
	late, began := ctx.Err() != nil, time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	a := c.api.Get(ctx, path, maxSites)
	if !late && errors.Is(a.Err, context.DeadlineExceeded) {
		return &silentAPIError{a.Err, time.Since(began)}
	}
	if a.Err != nil || a.Status != http.StatusOK {
		return failure(&a, "")
	}
	if a.Cut != nil {
		return a.Cut
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		// Not wrapped: errors of encoding/json and time contain the value, which may be long.
		return fmt.Errorf("footfall: the server answered 200 without the documented JSON; something other than the API answers; check BaseURL: %s", a.Excerpt(err.Error()))
	}
	return nil
}

// silentAPIError is the error of a GET whose time was over before an answer began.
type silentAPIError struct {
	err    error
	waited time.Duration
}

func (e *silentAPIError) Error() string {
	return fmt.Sprintf("%v; no answer in %v: see that the service listens on this port and that no firewall is in the way, and look at its log", e.err, milliseconds(e.waited))
}

func (e *silentAPIError) Unwrap() error { return e.err }

// site is a Site as the API sends it. Its pointers distinguish a missing field from a zero one.
type site struct {
	ID             *string    `json:"id"`
	Domain         *string    `json:"domain"`
	CreatedAt      *time.Time `json:"created_at"`
	TrackingActive *bool      `json:"tracking_active"`
}

// typed returns s as a Site, or an error if a required field is missing.
func (s *site) typed() (Site, error) {
	missing := func(field string) (Site, error) {
		return Site{}, fmt.Errorf("footfall: the API sent a site without %s", field)
	}
	switch {
	case s.ID == nil || *s.ID == "":
		return missing("id")
	case s.Domain == nil:
		return missing("domain")
	case s.CreatedAt == nil:
		return missing("created_at")
	case s.TrackingActive == nil:
		return missing("tracking_active")
	}
	return Site{ID: *s.ID, Domain: *s.Domain, CreatedAt: *s.CreatedAt, TrackingActive: *s.TrackingActive}, nil
}

// CheckError says what Check found wrong.
type CheckError struct {
	// Field is the field to correct: Config.BaseURL, Config.APIKey or Config.SiteID. It is
	// Config.BaseURL also if nothing answers in time. It is empty if none is likely to be wrong, such
	// as after a 503 or the cancellation of the context.
	Field  string
	Reason string
	Err    error // such as an *APIError, an error of the network, or ErrNotFound
}

func (e *CheckError) Error() string {
	text := "footfall: check: "
	if e.Field != "" {
		text += e.Field + ": "
	}
	return text + e.Reason
}

// Unwrap returns Err.
func (e *CheckError) Unwrap() error { return e.Err }

// Check requests the sites of the account from the API, with one GET, and returns nil if
// Config.SiteID is one of them. Otherwise the error is a [*CheckError]. It says whether something
// other than the API answers at Config.BaseURL, the key is refused, or the site does not exist, and
// lists the sites that do. A wrong Config.BaseURL or APIKey, which [New] does not check if
// Config.Transport is set, is a [*FieldError].
//
// [New] does no I/O, so call Check when a program starts, or in its readiness probe. An error does
// not stop the tracker. While the API is away or refuses the key, events wait. If the site does not
// exist, the API rejects each of its events, and they are lost: Stats.Rejected counts them. The same
// happens while the site is paused. Check then returns nil, because the API describes a paused site as it
// describes a new one ([Site].TrackingActive). The first rejected event says so, to Config.OnRejected or the log.
// Config.AttemptTimeout and ctx bound the call. Check does not use Config.Transport. It returns nil if the tracker is nil or disabled.
func (t *Tracker) Check(ctx context.Context) error {
	if t.inactive() {
		return nil
	}
	return t.check(orBackground(ctx))
}

// checkAPI is [Tracker.Check] with the configuration of an active tracker.
func checkAPI(ctx context.Context, cfg ClientConfig, siteID string) error {
	c, err := NewClient(cfg)
	if err != nil {
		return err
	}
	defer c.api.Close()
	sites, err := c.checkedSites(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(sites, func(s Site) bool { return s.ID == siteID }) {
		return nil
	}
	if i := slices.IndexFunc(sites, func(s Site) bool { return strings.EqualFold(s.Domain, siteID) }); i >= 0 {
		return &CheckError{"Config.SiteID", fmt.Sprintf("this is the domain of the site %q: use that id", sites[i].ID), ErrNotFound}
	}
	return &CheckError{"Config.SiteID", "the account has no site with this id; " + listSites(sites), ErrNotFound}
}

// Check requests the sites of the account from the API, with one GET, and returns nil if the API
// returns them. Otherwise the error is a [*CheckError]. It says whether something other than the
// API answers at ClientConfig.BaseURL, or the key is refused.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.checkedSites(ctx)
	return err
}

func (c *Client) checkedSites(ctx context.Context) ([]Site, error) {
	sites, err := c.Sites(ctx)
	if err == nil {
		return sites, nil
	}
	e := &CheckError{Reason: withoutPrefix(err), Err: err}
	answer, answered := errors.AsType[*APIError](err)
	_, silent := errors.AsType[*silentAPIError](err)
	switch {
	case silent:
		e.Field = "Config.BaseURL"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
	case !answered:
		e.Field = "Config.BaseURL"
	case answer.refusesKey():
		e.Field, e.Reason = "Config.APIKey", strings.TrimPrefix(answer.withoutHint(), "footfall: ") // Field is the hint
	case answer.Code == "" && answer.Status < 500 && answer.Status != http.StatusTooManyRequests:
		e.Field = "Config.BaseURL"
	}
	return nil, e
}

// maxListed is how many sites an error lists.
const maxListed = 10

// listSites names the sites of an account.
func listSites(sites []Site) string {
	if len(sites) == 0 {
		return "it has none: add one in the dashboard of the service"
	}
	var names []string
	for _, s := range sites[:min(len(sites), maxListed)] {
		names = append(names, fmt.Sprintf("%q (%s)", s.ID, s.Domain))
	}
	text := "it has " + strings.Join(names, ", ")
	if more := len(sites) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
