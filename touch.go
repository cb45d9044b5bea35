package footfall

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/pii"
)

// Touch is how a visit began: utm_source, utm_medium and utm_campaign of the landing page, what led to it (ref), its path and the
// time. It takes nothing else: no click ids, no other query keys, no path of the referrer, nothing about the
// visitor. Texts are bounded, and those that look like personal data are left out. The application keeps it where it
// keeps what it knows of a visitor, and the library sets no cookie. The zero Touch is none.
type Touch struct {
	source, medium, campaign, ref string // escaped
	landing                       string // path, escaped
	at                            int64  // in seconds since 1970
}

const (
	maxTouch     = 1024 // bytes of String
	maxTouchText = 120  // bytes of a text, escaped
	maxLanding   = 400  // bytes of the path, escaped twice
)

// touchGuard is the personal-data guard of touches.
var touchGuard = pii.New(false, nil)

// TouchOf returns the touch of a request for a page: ref is the query key of that name, or else the host in the Referer header if
// that is not the host of the request. The client chooses all of it, as it does the URL.
func TouchOf(r *http.Request) Touch {
	return touchOf(r, func(host string) bool { return sameSite(host, r.Host) })
}

// touchOf is TouchOf with a function that reports whether a host is one of the application.
func touchOf(r *http.Request, owns func(host string) bool) (t Touch) {
	if r == nil || r.URL == nil {
		return t
	}
	query := url.Values{}
	if raw := r.URL.RawQuery; strings.Contains(raw, "utm_") || strings.Contains(raw, "ref=") {
		query, _ = url.ParseQuery(raw) // what it can parse
	}
	t = touchOfQuery(query)
	if t.ref == "" {
		t.ref = foreignHost(r, owns)
	}
	p := Page{path: r.URL.Path, rawPath: r.URL.RawPath}
	t.landing, t.at = landing(p.escapedPath()), time.Now().Unix()
	return t
}

func touchOfQuery(q url.Values) Touch {
	return Touch{
		source:   touchText(q.Get("utm_source")),
		medium:   touchText(q.Get("utm_medium")),
		campaign: touchText(q.Get("utm_campaign")),
		ref:      touchText(q.Get("ref")),
	}
}

// touchText returns a text, escaped, or "" if it is no text or looks like personal data.
func touchText(s string) string {
	s = s[:textLen(s, maxTouchText)]
	if !isText(s) {
		return ""
	}
	escaped := url.QueryEscape(s)
	for len(escaped) > maxTouchText {
		s = s[:textLen(s, len(s)-1)]
		escaped = url.QueryEscape(s)
	}
	if touchGuard.RedactsQuery(escaped) {
		return ""
	}
	return escaped
}

// foreignHost returns the host in the Referer header, without www, or "" if it is one of the application.
func foreignHost(r *http.Request, owns func(host string) bool) string {
	u, err := url.Parse(r.Referer())
	if err != nil || !isHost(u.Hostname()) || owns(u.Hostname()) {
		return ""
	}
	return touchText(bareHost(u.Hostname()))
}

// bareHost returns a host in lower case, without port and www.
func bareHost(host string) string {
	return strings.TrimPrefix(strings.ToLower(hostname(host)), "www.")
}

func sameSite(one, other string) bool { return bareHost(one) == bareHost(other) }

// owns reports whether a host is one of the application of r: that of its page or of Config.PublicURL, or one of Config.Hosts.
func (c *pager) owns(r *http.Request, host string) bool {
	page := c.page(r)
	_, origin, _ := strings.Cut(c.origin, "://")
	origin, _, _ = strings.Cut(origin, "/")
	return sameSite(host, page.host) || sameSite(host, origin) || len(c.hosts) > 0 && c.allowsHost(host)
}

// landing returns an escaped path, guarded and cut after a slash, or "" if it is none.
func landing(path string) string {
	if !strings.HasPrefix(path, "/") || !chars.IsURL(path) || strings.ContainsAny(path, "?#") {
		return ""
	}
	guarded, _ := touchGuard.AppendPath(nil, path, pii.Route{})
	for len(url.QueryEscape(string(guarded))) > maxLanding {
		guarded = cutAfterSlash(guarded, len(guarded)-1)
	}
	return string(guarded)
}

// String returns t as printable ASCII of at most 1,024 bytes, for a session, the arguments of a job or a column:
// the form of a query, which [ParseTouch] reads. The zero Touch is "".
func (t Touch) String() string {
	if t.IsZero() {
		return ""
	}
	return "at=" + strconv.FormatInt(t.at, 10) + "&landing=" + url.QueryEscape(t.landing) + t.query()
}

// query returns the campaign, each pair after an ampersand.
func (t *Touch) query() string {
	var text strings.Builder
	for _, pair := range [...][2]string{{"utm_source", t.source}, {"utm_medium", t.medium}, {"utm_campaign", t.campaign}, {"ref", t.ref}} {
		if pair[1] != "" {
			fmt.Fprintf(&text, "&%s=%s", pair[0], pair[1])
		}
	}
	return text.String()
}

// ParseTouch returns the touch of a text that [Touch.String] has made, perhaps of another version. Of another text it returns what
// is valid in it, or the zero Touch: whoever can change the text can change the campaign of its own events, and
// nothing else.
func ParseTouch(text string) Touch {
	if text == "" || len(text) > maxTouch {
		return Touch{}
	}
	q, err := url.ParseQuery(text)
	if err != nil {
		return Touch{}
	}
	t := touchOfQuery(q)
	t.landing = landing(q.Get("landing"))
	if at, err := strconv.ParseInt(q.Get("at"), 10, 64); err == nil && at > 0 && at < 1<<40 {
		t.at = at
	}
	return t
}

// IsZero reports whether t is none.
func (t Touch) IsZero() bool { return t == Touch{} }

// IsDirect reports whether nothing is known to have led to the landing page.
func (t Touch) IsDirect() bool { return t.source+t.medium+t.campaign+t.ref == "" }

// Landing returns the path of the landing page, with personal data and secrets replaced, or "".
func (t Touch) Landing() string { return t.landing }

// Time returns when the visit began, in whole seconds, or the zero time if that is not known.
func (t Touch) Time() time.Time {
	if t.at == 0 {
		return time.Time{}
	}
	return time.Unix(t.at, 0)
}

// WithTouch returns a context below which the URL of each event has the utm_source, utm_medium, utm_campaign and ref of t, unless
// it has one of these itself: so a service attributes an order that a server reports to the campaign of its visit. A key that would
// make the URL longer than [Limits].URL is left out. See [Config.LandingProp] for the landing page.
func WithTouch(ctx context.Context, t Touch) context.Context {
	d := defaultsFrom(ctx)
	d.touch = nil
	if !t.IsZero() {
		d.touch = &t
	}
	return &defaultsContext{orBackground(ctx), d}
}

// TouchFrom returns the touch of ctx, which [WithTouch] or [Tracker.KeepTouch] has set, or else the zero Touch. A handler
// passes it on to work that is done later, as the text of [Touch.String] in the arguments of a job or a row of the order.
func TouchFrom(ctx context.Context) Touch {
	if t := defaultsFrom(ctx).touch; t != nil {
		return *t
	}
	return Touch{}
}

// on returns a URL with the campaign of t.
func (t *Touch) on(u string, limit int) string {
	u, fragment, found := strings.Cut(u, "#")
	if found {
		fragment = "#" + fragment
	}
	base, query, _ := strings.Cut(u, "?")
	if hasCampaign(query) {
		return u + fragment
	}
	for pair := range strings.SplitSeq(strings.TrimPrefix(t.query(), "&"), "&") {
		separator := "&"
		if query == "" {
			separator = ""
		}
		if pair != "" && len(base)+len("?")+len(query)+len(separator)+len(pair)+len(fragment) <= limit {
			query += separator + pair
		}
	}
	if query == "" {
		return u + fragment
	}
	return base + "?" + query + fragment
}

// hasCampaign reports whether a query has a key that a touch would add.
func hasCampaign(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		switch key {
		case "utm_source", "utm_medium", "utm_campaign", "ref":
			return true
		}
	}
	return false
}

// TouchStore keeps the touch of a visitor in the session that the application has anyway. Its methods are called by
// [Tracker.KeepTouch], on the goroutine of the request, before the handler.
type TouchStore interface {
	// Touch returns the text that SetTouch was last called with in the session of r, or "".
	Touch(r *http.Request) string

	// SetTouch keeps a text of at most 1,024 bytes of printable ASCII in the session of r.
	SetTouch(w http.ResponseWriter, r *http.Request, touch string)
}

// TouchOptions say which touch counts. The zero value means the last one of 30 days.
type TouchOptions struct {
	// First keeps the first touch of a visitor rather than the last one. Either way, a direct one does not replace another, and
	// one that has only the host of a Referer does not replace a campaign: a visitor who comes back from a payment provider or
	// a login has its Referer.
	First bool

	// Window is the time after which a touch is forgotten. Defaults to 30 days.
	Window time.Duration
}

// KeepTouch returns a middleware that keeps the touch of each visitor in store, and gives it to the events below: see
// [WithTouch]. Put it below the middleware of the session and above [Tracker.Middleware]. A touch is taken of a
// navigation: a GET whose Sec-Fetch-Dest is document, or that has no such header and accepts text/html. Referrers on the hosts of
// Config.PublicURL and Config.Hosts, and the one that a trusted proxy names, are the application's own. KeepTouch sets no cookie itself. If store panics, the request goes on
// without the touch that it did not return.
func (t *Tracker) KeepTouch(store TouchStore, o TouchOptions) func(http.Handler) http.Handler {
	o.Window = cmp.Or(o.Window, 30*24*time.Hour)
	return func(next http.Handler) http.Handler {
		if t.inactive() || store == nil {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			touch := t.keptTouch(store, &o, w, r)
			if touch.IsZero() {
				next.ServeHTTP(w, r)
				return
			}
			inner := r.WithContext(WithTouch(r.Context(), touch))
			defer handBack(r, inner)
			next.ServeHTTP(w, inner)
		})
	}
}

// keptTouch returns the touch of the visitor, and keeps it if it is a new one.
func (t *Tracker) keptTouch(store TouchStore, o *TouchOptions, w http.ResponseWriter, r *http.Request) (touch Touch) {
	defer func() {
		if v := recover(); v != nil {
			t.reporter.invalid("", fmt.Errorf("footfall: panic in the TouchStore of KeepTouch: %v", v))
		}
	}()
	touch = ParseTouch(store.Touch(r))
	if time.Since(touch.Time()) > o.Window {
		touch = Touch{}
	}
	if !isNavigation(r) {
		return touch
	}
	later := touchOf(r, func(host string) bool { return t.pager.owns(r, host) })
	if o.replaces(touch, later, hasCampaign(r.URL.RawQuery)) {
		touch = later
		store.SetTouch(w, r, touch.String())
	}
	return touch
}

// replaces reports whether a later touch counts rather than the one that is kept. named is whether the URL of the later one names
// a campaign or ref.
func (o *TouchOptions) replaces(kept, later Touch, named bool) bool {
	switch {
	case kept.IsZero():
		return true
	case later.IsDirect():
		return false
	case !named && kept.source+kept.medium+kept.campaign != "":
		return false // the visitor may come back from a payment provider or a login
	}
	return kept.IsDirect() || !o.First
}

// isNavigation reports whether a browser asks for a page that it will show.
func isNavigation(r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" {
		return false
	}
	if to := r.Header.Get("Sec-Fetch-Dest"); to != "" {
		return to == "document"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
