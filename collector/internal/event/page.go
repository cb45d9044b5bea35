package event

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/collector/internal/guard"
	"github.com/footfall-dev/footfall/collector/store"
)

// Page holds the parts of a URL that figures count by.
type Page struct {
	Host  string // lower case, without the port that the scheme implies
	Path  string // raw, may be empty
	Query string // raw
}

// ParsePage splits a URL, or returns the reason why an event may not have it. Unlike
// net/url it accepts a percent sign that escapes nothing, because browsers send such URLs.
func ParsePage(raw string) (p Page, reason string) {
	if len(raw) > store.MaxURL {
		return p, fmt.Sprintf("is longer than %d bytes", store.MaxURL)
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	secure := strings.EqualFold(scheme, "https")
	switch {
	case raw == "":
		return p, "is empty"
	case !ok:
		return p, "is not absolute: it needs http:// or https:// and a host"
	case !secure && !strings.EqualFold(scheme, "http"):
		return p, "has a scheme that is neither http nor https"
	case strings.ContainsFunc(raw, isControl):
		return p, "contains a control character"
	}
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	if reason := checkAuthority(rest[:end]); reason != "" {
		return p, reason
	}
	p.Host = canonicalHost(rest[:end], secure)
	rest, _, _ = strings.Cut(rest[end:], "#")
	p.Path, p.Query, _ = strings.Cut(rest, "?")
	return p, ""
}

// Guard removes what may be personal or secret from the URL of a browser's page: the part after the #,
// keys of the query that do not name a source, and segments of the path that package guard replaces.
func (d *Draft) Guard() {
	scheme, rest, _ := strings.Cut(d.URL, "://")
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		return
	}
	if rest, ok := strings.CutPrefix(d.Page.Path, `\`); ok { // browsers read a backslash as a slash
		d.Page.Path = "/" + rest
	}
	d.Page.Path, d.Page.Query = guard.Path(d.Page.Path), guard.Query(d.Page.Query)
	d.URL = scheme + "://" + rest[:end] + d.Page.Path
	if room := store.MaxURL - len(d.URL); room < 0 { // what replaces a segment may be longer
		d.URL = d.URL[:strings.LastIndexByte(d.URL[:store.MaxURL], '/')+1]
		d.Page.Path = d.URL[len(scheme)+len("://")+end:]
	} else if d.Page.Query != "" && len(d.Page.Query) < room {
		d.URL += "?" + d.Page.Query
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func checkAuthority(host string) string {
	if strings.Contains(host, "@") {
		return "contains a user name or password"
	}
	u, err := url.Parse("http://" + host)
	switch {
	case host == "" || err == nil && u.Hostname() == "":
		return "has no host"
	case err != nil:
		return "has an invalid host"
	}
	return ""
}

// canonicalHost returns host in lower case without the scheme's default port, as browsers
// write it.
func canonicalHost(host string, secure bool) string {
	if secure {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return strings.ToLower(strings.TrimSuffix(host, ":"))
}

// countedPath returns the path for figures: unescaped, or raw if the unescaped path is not
// text.
func (p *Page) countedPath() string {
	path := p.Path
	if strings.Contains(path, "%") {
		if plain, err := url.PathUnescape(path); err == nil && isText(plain) {
			path = plain
		}
	}
	if !strings.HasPrefix(path, "/") {
		return "/" + strings.TrimPrefix(path, `\`) // browsers read a backslash as a slash
	}
	return strings.Clone(path) // the interned copy must not keep the whole URL alive
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, isControl) }

// sourceKeys are the keys of a query that name the source of a visit, the most specific first.
var sourceKeys = [...]string{"utm_source", "source", "ref"}

// campaign returns the first source, utm_medium and utm_campaign. A source that is empty does not
// hide one with another key.
func (p *Page) campaign() (source, medium, campaign string) {
	if p.Query == "" {
		return "", "", ""
	}
	var sources [len(sourceKeys)]string
	for pair := range strings.SplitSeq(p.Query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		switch into := slices.Index(sourceKeys[:], key); {
		case into >= 0 && sources[into] == "":
			sources[into] = unescaped(value)
		case key == "utm_medium" && medium == "":
			medium = unescaped(value)
		case key == "utm_campaign" && campaign == "":
			campaign = unescaped(value)
		}
	}
	return cmp.Or(sources[:]...), medium, campaign
}

// unescaped returns value unescaped, or raw if the result is not text.
func unescaped(value string) string {
	if plain, err := url.QueryUnescape(value); err == nil && isText(plain) {
		return strings.Clone(strings.TrimSpace(plain))
	}
	return strings.Clone(value)
}

// referrerHost returns the host of the referrer; empty if it is the site itself or not a
// web page.
func referrerHost(raw, domain string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	secure := strings.EqualFold(scheme, "https")
	if !secure && !strings.EqualFold(scheme, "http") {
		return ""
	}
	if end := strings.IndexAny(rest, `/?#\`); end >= 0 {
		rest = rest[:end]
	}
	if len(rest) > maxHost || checkAuthority(rest) != "" {
		return ""
	}
	host := strings.TrimPrefix(canonicalHost(rest, secure), "www.")
	if host == "" || !isText(host) || IsOn(domain, host) {
		return ""
	}
	return strings.Clone(host)
}

// maxHost is the longest host with a port, in bytes (RFC 1035, section 2.3.4).
const maxHost = 253 + len(":65535")

// IsOn reports whether host is the domain, with or without www., or a subdomain of it. A
// domain without a port matches every port.
func IsOn(domain, host string) bool {
	domain = strings.TrimPrefix(domain, "www.")
	if hostname(domain) == domain {
		host = hostname(host)
	}
	above, ok := strings.CutSuffix(host, domain)
	return ok && (above == "" || above[len(above)-1] == '.')
}

// hostname returns host without the port.
func hostname(host string) string {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") || host[0] != '[' && strings.Count(host, ":") > 1 {
		return host
	}
	return host[:i]
}
