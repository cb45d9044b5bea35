package footfall

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Page is the address of the page an event belongs to, in the pieces in which a
// request carries it; it becomes a URL when an event is encoded. A Page
// taken from a request keeps scheme, host, path and the query keys that
// Config.QueryKeys lists. The zero Page is none.
type Page struct {
	exact   string // given as a whole: sent as given, the other fields are empty
	rules   *pager // how to make a URL of the rest; nil if there is none
	https   bool
	host    string
	path    string
	rawPath string // as in url.URL
	query   string // raw, not filtered yet
}

// usable reports whether the page is one, and a URL can be made of it.
func (p *Page) usable() bool {
	return p.exact != "" || p.rules != nil && (p.rules.origin != "" || isHost(p.host))
}

// String returns the URL that an event on this page is sent with.
func (p Page) String() string {
	if p.exact != "" || !p.usable() {
		return p.exact
	}
	text, _ := p.append(nil, guard{off: true})
	return string(text)
}

// append writes the URL. Nothing of it needs escaping in JSON. redacted counts
// values of the query that were left out for personal data.
func (p *Page) append(dst []byte, g guard) (out []byte, redacted int) {
	switch {
	case p.rules.origin != "":
		dst = append(dst, p.rules.origin...)
	case p.https:
		dst = append(append(dst, "https://"...), p.host...)
	default:
		dst = append(append(dst, "http://"...), p.host...)
	}
	dst = append(dst, p.escapedPath()...)
	return p.appendQuery(dst, g)
}

func (p *Page) escapedPath() string {
	if !strings.HasPrefix(p.path, "/") {
		return "/" // the target of OPTIONS * and CONNECT is not a path
	}
	if p.rawPath == "" && scan(p.path)&hasNoPath == 0 {
		return p.path
	}
	u := url.URL{Path: strings.Clone(p.path), RawPath: strings.Clone(p.rawPath)} // net/url's errors would keep them alive
	if escaped := u.EscapedPath(); isURLText(escaped) {
		return escaped
	}
	u.RawPath = ""
	return u.EscapedPath()
}

// appendQuery writes the listed keys of the query, as they stand, in their order.
// A value in which the guard sees personal data is left out and counted.
func (p *Page) appendQuery(dst []byte, g guard) (out []byte, redacted int) {
	separator := byte('?')
	for rest := p.query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		key, value, _ := strings.Cut(pair, "=")
		if !listed(p.rules.keys, key) || !isURLText(pair) {
			continue
		}
		if !g.off && personalQueryValue(value) {
			redacted++
			continue
		}
		dst = append(append(dst, separator), pair...)
		separator = '&'
	}
	return dst, redacted
}

func personalQueryValue(raw string) bool {
	value, err := url.QueryUnescape(strings.Clone(raw))   // its error would keep raw alive
	return err != nil || personalText(value, scan(value)) // what can't be read is not sent
}

// listed reports whether keys has key; an entry ending in * stands for a prefix.
func listed(keys []string, key string) bool {
	for _, k := range keys {
		if prefix, wild := strings.CutSuffix(k, "*"); wild && strings.HasPrefix(key, prefix) || k == key {
			return true
		}
	}
	return false
}

// pager takes pages from requests, by the tracker's configuration.
type pager struct {
	origin    string // Config.PublicURL without trailing slash
	keys      []string
	proxies   []netip.Prefix
	elsewhere *pager // for pages that may be another application's: without origin
}

func newPager(cfg *Config) *pager {
	keys := slices.Clone(cfg.QueryKeys)
	return &pager{
		origin:    strings.TrimRight(cfg.PublicURL, "/"),
		keys:      keys,
		proxies:   slices.Clone(cfg.TrustedProxies),
		elsewhere: &pager{keys: keys},
	}
}

func (c *pager) page(r *http.Request) (p Page) {
	c.note(&p, r)
	return p
}

// note makes p the page of r.
func (c *pager) note(p *Page, r *http.Request) {
	p.rules, p.https, p.host = c, r.TLS != nil, r.Host
	p.path, p.rawPath, p.query = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
	if c.believes() && c.trusts(r.RemoteAddr) {
		p.forward(r.Header)
	}
}

// believes reports whether there are peers whose X-Forwarded-* headers count.
func (c *pager) believes() bool { return c.origin == "" && len(c.proxies) > 0 }

// referer takes the page from a Referer header (RFC 9110, section 10.1.3), for
// API routes whose own URL is not what a visitor sees.
func (c *pager) referer(raw string) Page {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
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

// forward takes scheme and host from the headers of a trusted proxy. A proxy that
// appends to a header that the client sent leaves the client's entries first, so only
// the last entry is the proxy's own.
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

// isHost accepts a host name or address with an optional port, and nothing that
// would end the host part of a URL or need escaping in JSON: whoever sends the
// request writes it.
func isHost(s string) bool {
	switch {
	case s == "":
		return false
	case scan(s)&hasNoName == 0:
		return true
	case s[0] == '[':
		end := strings.IndexByte(s, ']')
		return end > 0 && isIPv6(s[1:end]) && isPort(s[end+1:])
	}
	name, _, _ := strings.Cut(s, ":")
	return name != "" && scan(name)&hasNoName == 0 && isPort(s[len(name):])
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(strings.Clone(s)) // its error would keep s alive
	return err == nil && addr.Is6() && addr.Zone() == ""
}

// isPort accepts nothing, or a colon and a number.
func isPort(s string) bool {
	return s == "" || len(s) >= 2 && len(s) <= len(":65535") && s[0] == ':' && isDigits(s[1:])
}

// isURLText reports whether s is of the characters that a path and a query are
// written in. None of them needs escaping in JSON.
func isURLText(s string) bool { return scan(s)&hasNoURL == 0 }

// checkURL says why raw can't be an event's URL, or returns "". A URL of plain
// characters is checked without allocating; anything else goes to net/url.
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
	return isHost(host) && isURLText(text) && strings.IndexByte(text, '%') < 0
}

// cutScheme cuts http:// or https://, in lower case.
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
	u, err := url.Parse(strings.Clone(raw)) // its error would keep raw, and the props beside it, alive
	switch {
	case err != nil:
		return "not a URL"
	case u.Scheme == "":
		return "not absolute: it needs http:// or https:// and a host"
	case u.Scheme != "http" && u.Scheme != "https":
		return "scheme is neither http nor https"
	case u.Hostname() == "":
		return "no host"
	case u.User != nil:
		return "has a user name or password in it"
	}
	return ""
}
