package footfall

import "net/http"

// PageSource says which page the events of a request belong to. The zero value means
// [Config.Page] in a [Rule], and PagePath in a [Config].
type PageSource uint8

const (
	// PagePath is the URL of the request. Segments of its path that look like personal
	// data or like a secret are replaced: see [Config.AllowPII].
	PagePath PageSource = iota + 1

	// PageRoute is the URL of the request with the pattern of its route in place of the
	// path, its wildcards written as names in braces: /user/reset/{key}. It is for
	// applications whose paths have secrets or personal data. Where the route is not
	// known, the page is that of PagePath.
	PageRoute

	// PageReferer is the URL in the Referer header (RFC 9110, section 10.1.3), for API
	// routes that pages call: the visitor never saw the route's own URL. Without a usable
	// header the page is that of PagePath. The header is the client's: list your hosts in
	// [Config.Hosts] to accept their pages only.
	PageReferer
)

// valid reports whether s is one of the constants, or zero.
func (s PageSource) valid() bool { return s <= PageReferer }

// from returns p with another choice of page, for a rule that has its own. referer is the
// Referer header of the request.
func (p Page) from(source PageSource, referer string) Page {
	p.source, p.named = source, ""
	if source == PageReferer && p.rules != nil {
		p.named = p.rules.usable(referer)
	}
	return p
}

// noteNamed notes the URL that the client says is the page, if it is a usable one:
// in Config.PageHeader, or in the Referer header if that is Config.Page.
func (c *pager) noteNamed(p *Page, h http.Header) {
	p.named = ""
	if c.header != "" {
		p.named = c.usable(h.Get(c.header))
	}
	if c.source == PageReferer && p.named == "" {
		p.named = c.usable(h.Get("Referer"))
	}
}

// usable returns raw if it can be a page's URL, or "".
func (c *pager) usable(raw string) string {
	if page := c.referer(raw); page.usable() {
		return raw
	}
	return ""
}

// WithRoute returns p with the pattern of the route that the request matched, for adapters
// of routers that know it before the handler runs.
func (p Page) WithRoute(route string) Page {
	p.route = route
	return p
}
