package footfall

import (
	"bytes"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/pattern"
	"github.com/footfall-dev/footfall/internal/pii"
)

// Page is the address of the page that an event belongs to. It contains the parts of a request
// that the URL of an event consists of: scheme, host, path, and the query keys that
// [Config.QueryKeys] lists. The zero Page means no page.
type Page struct {
	rules   *pager // makes a URL of the other fields; nil if there is no page, or the URL is given
	url     string // without rules the URL of WithURL, else a usable one that the client sent, or ""
	host    string
	path    string
	rawPath string    // as in url.URL
	query   string    // raw, not filtered yet
	route   pii.Route // empty if it is not known
	https   bool
	source  PageSource
}

// usable reports whether p is a page, not the zero Page.
func (p *Page) usable() bool { return p.rules != nil || p.url != "" }

// exact returns the URL of WithURL, or "".
func (p *Page) exact() string {
	if p.rules != nil {
		return ""
	}
	return p.url
}

// isNamed reports whether the page is the one that the client sent.
func (p *Page) isNamed() bool { return p.url != "" && p.source != PagePath }

// String returns the URL of the page before the personal-data guard redacts it.
func (p Page) String() string {
	if p.rules == nil {
		return p.url
	}
	text, _, _ := p.append(nil, pii.New(true, nil), p.route)
	return string(text)
}

// maxPageURL bounds the URL of a page that is taken from a request, in bytes. A smaller
// Limits.URL does, too.
const maxPageURL = 2048

// pageChange is how a URL differs from the one that the client sent, apart from personal data.
type pageChange uint8

const (
	hostUnknown  pageChange = 1 << iota // noHost is in place of the host
	hostReplaced                        // a host of Config.Hosts is in place of the host
	urlCut                              // the URL was too long
)

// append writes the URL, which has no characters that JSON escapes. redacted is the number of
// segments of the path that the guard replaced and of query values that it left out.
func (p *Page) append(dst []byte, g *pii.Guard, route pii.Route) (out []byte, redacted int, changed pageChange) {
	if p.isNamed() {
		named := p.rules.referer(p.url)
		return named.append(dst, g, pii.Route{})
	}
	limit := len(dst) + p.rules.limit
	dst, changed = p.appendOrigin(dst)
	dst, redacted = p.appendPath(dst, g, route)
	if len(dst) > limit {
		return cutAfterSlash(dst, limit), redacted, changed | urlCut
	}
	dst, hidden, cut := p.appendQuery(dst, g, limit)
	if cut {
		changed |= urlCut
	}
	return dst, redacted + hidden, changed
}

// cutAfterSlash returns the longest beginning of a URL that has at most limit bytes and ends
// with a slash of its path. The path begins before limit.
func cutAfterSlash(url []byte, limit int) []byte {
	return url[:bytes.LastIndexByte(url[:limit], '/')+1]
}

func (p *Page) appendOrigin(dst []byte) (out []byte, changed pageChange) {
	if p.rules.origin != "" {
		return append(dst, p.rules.origin...), 0
	}
	host := p.host
	switch {
	case p.rules.allowsHost(host):
	case len(p.rules.hosts) > 0:
		host, changed = p.rules.hosts[0], hostReplaced
	default:
		host, changed = noHost, hostUnknown
	}
	if p.https {
		dst = append(dst, "https://"...)
	} else {
		dst = append(dst, "http://"...)
	}
	return append(dst, host...), changed
}

// noHost replaces an unknown host (RFC 6761, section 6.4).
const noHost = "unknown.invalid"

// allowsHost reports whether host is valid, and is in Config.Hosts if there are any.
func (c *pager) allowsHost(host string) bool {
	if !isHost(host) {
		return false
	}
	if len(c.hosts) == 0 {
		return true
	}
	name := hostname(host)
	for _, h := range c.hosts {
		if strings.EqualFold(h, host) || strings.EqualFold(h, name) {
			return true
		}
		if domain, wild := strings.CutPrefix(h, "*."); wild && len(name) > len(domain)+1 &&
			strings.EqualFold(name[len(name)-len(domain):], domain) && name[len(name)-len(domain)-1] == '.' {
			return true
		}
	}
	return false
}

// hostname returns a host without its port.
func hostname(host string) string {
	if end := strings.LastIndexByte(host, ':'); end > strings.LastIndexByte(host, ']') {
		return host[:end]
	}
	return host
}

// appendPath writes the path, or the pattern of the route in its place.
func (p *Page) appendPath(dst []byte, g *pii.Guard, route pii.Route) (out []byte, redacted int) {
	if route.Pattern != "" && p.isRoute() {
		return pattern.AppendPath(dst, route.Pattern), 0
	}
	return g.AppendPath(dst, p.escapedPath(), route)
}

// isRoute reports whether the page is a PageRoute.
func (p *Page) isRoute() bool {
	return p.source == PageRoute || p.source == 0 && p.rules.source == PageRoute
}

func (p *Page) escapedPath() string {
	if !strings.HasPrefix(p.path, "/") {
		return "/" // the target of OPTIONS * and CONNECT is not a path
	}
	if p.rawPath == "" && chars.Scan(p.path)&chars.NotPath == 0 {
		return p.path
	}
	u := url.URL{Path: strings.Clone(p.path), RawPath: strings.Clone(p.rawPath)} // an error of net/url would keep the request alive
	if escaped := u.EscapedPath(); chars.IsURL(escaped) {
		return escaped
	}
	u.RawPath = ""
	return u.EscapedPath()
}

// appendQuery writes the listed keys of the query and their values unchanged, in the same order.
// It leaves out and counts values that the guard redacts. It also leaves out values that would
// make the URL longer than limit, and then reports cut.
func (p *Page) appendQuery(dst []byte, g *pii.Guard, limit int) (out []byte, redacted int, cut bool) {
	separator := byte('?')
	for rest := p.query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		key, value, _ := strings.Cut(pair, "=")
		if !listed(p.rules.keys, key) || !chars.IsURL(pair) {
			continue
		}
		if g.RedactsQuery(value) {
			redacted++
			continue
		}
		if len(dst)+len(pair) >= limit {
			cut = true
			continue
		}
		dst = append(append(dst, separator), pair...)
		separator = '&'
	}
	return dst, redacted, cut
}

// listed reports whether keys contains key. An entry that ends with * matches a prefix.
func listed(keys []string, key string) bool {
	for _, k := range keys {
		if prefix, wild := strings.CutSuffix(k, "*"); wild && strings.HasPrefix(key, prefix) || k == key {
			return true
		}
	}
	return false
}

// pager takes pages from requests according to the tracker's configuration.
type pager struct {
	origin    string // Config.PublicURL without trailing slash
	keys      []string
	hosts     []string
	source    PageSource
	header    string // Config.PageHeader
	proxies   []netip.Prefix
	limit     int    // of a URL, in bytes
	elsewhere *pager // without origin, for pages of other applications
}

func (c *pager) page(r *http.Request) (p Page) {
	c.setPage(&p, r)
	return p
}

// setPage sets p to the page of r.
func (c *pager) setPage(p *Page, r *http.Request) {
	p.rules, p.https, p.host = c, r.TLS != nil, r.Host
	p.path, p.rawPath, p.query = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
	if c.readsForwarded() && c.trusts(r.RemoteAddr) {
		p.forward(r.Header)
	}
	if c.header != "" || c.source == PageReferer {
		c.noteNamed(p, r.Header)
	}
}

// headers returns the headers of a request that setPage reads.
func (c *pager) headers() (names []string) {
	if c.readsForwarded() {
		names = append(names, "X-Forwarded-Proto", "X-Forwarded-Host")
	}
	if c.header != "" {
		names = append(names, c.header)
	}
	if c.source == PageReferer {
		names = append(names, "Referer")
	}
	return names
}

// readsForwarded reports whether setPage reads the X-Forwarded-* headers of some peers.
func (c *pager) readsForwarded() bool { return c.origin == "" && len(c.proxies) > 0 }

// referer returns the page of a URL that a client sent. It returns the zero Page if raw is not
// a URL with a host that Config.Hosts allows.
func (c *pager) referer(raw string) Page {
	if raw == "" {
		return Page{}
	}
	u, err := url.Parse(strings.Clone(raw)) // a parse error would keep raw alive
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !c.elsewhere.allowsHost(u.Host) {
		return Page{}
	}
	return Page{rules: c.elsewhere, https: u.Scheme == "https", host: u.Host, path: u.Path, rawPath: u.RawPath, query: u.RawQuery}
}

// trusts reports whether the peer is one of Config.TrustedProxies.
func (c *pager) trusts(remoteAddr string) bool {
	peer, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return false
	}
	addr := peer.Addr().Unmap().WithZone("")
	for _, prefix := range c.proxies {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// forward takes scheme and host from the headers of a trusted proxy. It uses the last entry of
// a header, because a proxy may append its entry to those that the client sent.
func (p *Page) forward(h http.Header) {
	switch proto := lastEntry(h["X-Forwarded-Proto"]); {
	case strings.EqualFold(proto, "https"):
		p.https = true
	case strings.EqualFold(proto, "http"):
		p.https = false
	}
	if name := lastEntry(h["X-Forwarded-Host"]); isHost(name) {
		p.host = name
	}
}

// lastEntry returns the last entry of the last line of a header whose lines are lists.
func lastEntry(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	last := lines[len(lines)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

// maxHost is a name of 253 bytes (RFC 1035, section 2.3.4) and a port.
const maxHost = 253 + len(":65535")

// isHost reports whether s is a host name or an address, with an optional port. The client
// chooses it, so isHost refuses every character that would end the host of a URL or that JSON
// escapes.
func isHost(s string) bool {
	switch {
	case s == "" || len(s) > maxHost:
		return false
	case chars.Scan(s)&chars.NotHost == 0:
		return true
	case s[0] == '[':
		end := strings.IndexByte(s, ']')
		return end > 0 && isIPv6(s[1:end]) && isPort(s[end+1:])
	}
	name, _, _ := strings.Cut(s, ":")
	return name != "" && chars.Scan(name)&chars.NotHost == 0 && isPort(s[len(name):])
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(strings.Clone(s)) // a parse error would keep s alive
	return err == nil && addr.Is6() && addr.Zone() == ""
}

// isPort reports whether s is empty, or a colon and a number.
func isPort(s string) bool {
	return s == "" || len(s) >= 2 && len(s) <= len(":65535") && s[0] == ':' && chars.IsDigits(s[1:])
}

// checkURL returns the reason why raw cannot be the URL of an event, or "". It does not allocate
// for a URL of plain characters.
func checkURL(raw string) string {
	if isPlainURL(raw) {
		return ""
	}
	return checkUnusualURL(raw)
}

func isPlainURL(raw string) bool {
	rest, ok := cutScheme(raw)
	if !ok {
		return false
	}
	host, text := rest, ""
	for i := range len(rest) {
		if b := rest[i]; b == '/' || b == '?' {
			host, text = rest[:i], rest[i:]
			break
		}
	}
	return isHost(host) && chars.IsURL(text) && strings.IndexByte(text, '%') < 0
}

// cutScheme removes http:// or https://, in lower case, and reports whether raw had it.
func cutScheme(raw string) (string, bool) {
	if rest, ok := strings.CutPrefix(raw, "https://"); ok {
		return rest, true
	}
	return strings.CutPrefix(raw, "http://")
}

func checkUnusualURL(raw string) string {
	if !utf8.ValidString(raw) {
		return "not valid UTF-8"
	}
	if strings.ContainsFunc(raw, isControl) {
		return "contains a control character, such as a line break"
	}
	u, err := url.Parse(strings.Clone(raw)) // a parse error would keep raw, and the props beside it, alive
	_, begins := cutScheme(raw)
	switch {
	case err != nil && begins:
		return "not a URL"
	case err != nil:
		return "not a URL: begin with http:// or https://"
	case u.Scheme == "":
		return "not absolute: it needs http:// or https:// and a host"
	case u.Scheme != "http" && u.Scheme != "https":
		return "scheme is neither http nor https: begin with http:// or https://"
	case u.Hostname() == "":
		return "no host"
	case u.User != nil:
		return "contains a user name or a password: remove them"
	}
	return ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// PageSource selects the page that the events of a request belong to. The zero value means
// [Config.Page] in a [Rule], and PagePath in a [Config].
type PageSource uint8

const (
	// PagePath is the URL of the request. The personal-data guard replaces segments that look
	// like personal data or a secret: see [Config.AllowPII].
	PagePath PageSource = iota + 1

	// PageRoute is the URL of the request with the pattern of its route in place of the path.
	// The names of wildcards are in braces: /user/reset/{key}. It is for applications whose
	// paths contain secrets or personal data. If the route is not known, PageRoute is the
	// same as PagePath.
	PageRoute

	// PageReferer is the URL in the Referer header (RFC 9110, section 10.1.3). It is for API
	// routes that pages call, because the visitor never sees the URL of the route. Without a
	// usable header, PageReferer is the same as PagePath. The client chooses the header: list
	// your hosts in [Config.Hosts] to accept only their pages.
	PageReferer
)

// valid reports whether s is one of the constants, or zero.
func (s PageSource) valid() bool { return s <= PageReferer }

// from returns p with the page source of a rule. referer is the Referer header of the request.
func (p Page) from(source PageSource, referer string) Page {
	if p.rules == nil {
		return p
	}
	p.source, p.url = source, ""
	if source == PageReferer {
		p.url = p.rules.usable(referer)
	}
	return p
}

// noteNamed notes the URL that the client named as the page, if it is usable. It reads
// Config.PageHeader, then the Referer header if Config.Page is PageReferer.
func (c *pager) noteNamed(p *Page, h http.Header) {
	p.url = ""
	if c.header != "" {
		p.url = c.usable(h.Get(c.header))
	}
	if c.source == PageReferer && p.url == "" {
		p.url = c.usable(h.Get("Referer"))
	}
}

// usable returns raw if it is the URL of a page that referer accepts, or "".
func (c *pager) usable(raw string) string {
	if page := c.referer(raw); page.usable() {
		return raw
	}
	return ""
}

// WithRoute returns p with the pattern of the route that the request matched, for adapters
// of routers that know it before the handler runs.
func (p Page) WithRoute(route string) Page {
	p.route = pii.Route{Pattern: route}
	return p
}
