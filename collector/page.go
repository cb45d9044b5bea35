package collector

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/collector/store"
)

// page is a URL in the parts that are counted by.
type page struct {
	host  string // lower case, without the port that the scheme implies
	path  string // raw, may be empty
	query string // raw
}

// parsePage takes a URL apart, or says why it can't be an event's. Unlike net/url it
// takes a percent sign that escapes nothing: browsers send such addresses, and a
// visit there is a visit.
func parsePage(raw string) (p page, reason string) {
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
		return p, "has a control character"
	}
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	if reason := checkAuthority(rest[:end]); reason != "" {
		return p, reason
	}
	p.host = canonicalHost(rest[:end], secure)
	rest, _, _ = strings.Cut(rest[end:], "#")
	p.path, p.query, _ = strings.Cut(rest, "?")
	return p, ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func checkAuthority(host string) string {
	if strings.Contains(host, "@") {
		return "has a user name or a password in it"
	}
	u, err := url.Parse("http://" + host)
	switch {
	case host == "" || err == nil && u.Hostname() == "":
		return "has no host"
	case err != nil:
		return "has a host that cannot be one"
	}
	return ""
}

// canonicalHost makes hosts comparable: browsers leave the implied port out as well.
func canonicalHost(host string, secure bool) string {
	if secure {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return strings.ToLower(strings.TrimSuffix(host, ":"))
}

// countedPath is the path that pages are counted by: unescaped, unless that gives
// something that is not text.
func (p *page) countedPath() string {
	path := p.path
	if strings.Contains(path, "%") {
		if plain, err := url.PathUnescape(path); err == nil && isText(plain) {
			path = plain
		}
	}
	if !strings.HasPrefix(path, "/") {
		return "/" + strings.TrimPrefix(path, `\`) // browsers read a backslash as a slash
	}
	return strings.Clone(path) // not to keep all of the URL alive where paths are interned
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, isControl) }

// campaign returns the values of utm_source, utm_medium and utm_campaign. Of several
// the first counts.
func (p *page) campaign() (source, medium, campaign string) {
	if !strings.Contains(p.query, "utm_") {
		return "", "", ""
	}
	for pair := range strings.SplitSeq(p.query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case key == "utm_source" && source == "":
			source = unescaped(value)
		case key == "utm_medium" && medium == "":
			medium = unescaped(value)
		case key == "utm_campaign" && campaign == "":
			campaign = unescaped(value)
		}
	}
	return source, medium, campaign
}

// unescaped returns the text that value stands for, or value if that is not text.
func unescaped(value string) string {
	if plain, err := url.QueryUnescape(value); err == nil && isText(plain) {
		return strings.Clone(strings.TrimSpace(plain))
	}
	return strings.Clone(value)
}

// referrerHost returns the host that a visitor came from; empty if it was the site
// itself, or no web page.
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
	if host == "" || !isText(host) || isOn(domain, host) {
		return ""
	}
	return strings.Clone(host)
}

// maxHost is the longest host with a port, in bytes (RFC 1035, section 2.3.4).
const maxHost = 253 + len(":65535")

// isOn reports whether host belongs to a site: it is the domain, with or without www.,
// or below it, for who owns a domain owns what is below. A domain registered without a
// port stands for all of them.
func isOn(domain, host string) bool {
	domain = strings.TrimPrefix(domain, "www.")
	if hostname(domain) == domain {
		host = hostname(host)
	}
	above, ok := strings.CutSuffix(host, domain)
	return ok && (above == "" || above[len(above)-1] == '.')
}

// hostname cuts the port off.
func hostname(host string) string {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") || host[0] != '[' && strings.Count(host, ":") > 1 {
		return host
	}
	return host[:i]
}
