package collector

import (
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/client"
	"github.com/footfall-dev/footfall/collector/internal/event"
	"github.com/footfall-dev/footfall/collector/internal/limit"
	"github.com/footfall-dev/footfall/collector/internal/order"
)

func (c *Collector) serveBrowserEvents(w http.ResponseWriter, r *http.Request) *failure {
	return c.fromBrowsers.counting(w, r, c.serveBrowser)
}

// serveBrowser accepts events of t.js: {"s": domain, "n": name, absent for a pageview,
// "u": url, "r": referrer, "p": props, "q": page and number of the event on it}.
func (c *Collector) serveBrowser(w http.ResponseWriter, r *http.Request) *failure {
	w.Header()["Vary"] = variesOrigin
	switch r.Method {
	case http.MethodPost:
		return c.postBrowserEvent(w, r)
	case http.MethodOptions:
		c.preflight(w, r)
		return nil
	}
	return wrongMethod("POST, OPTIONS")
}

func (c *Collector) postBrowserEvent(w http.ResponseWriter, r *http.Request) *failure {
	from := c.client(r)
	if wait := c.browsers.take(limit.PrefixOf(from)); wait > 0 {
		return rateLimited("too many events from this network", wait)
	}
	if f := checkMediaType(r, "text/plain", "application/json", "text/plain;charset=UTF-8"); f != nil {
		return f
	}
	d, f := readEvent(r, &event.Browser)
	if f != nil {
		return f
	}
	s, ok := c.account.SiteOf(d.Site)
	if !ok {
		return noSuchSite("domain", d.Site)
	}
	if f := admit(w, r, &s, &d); f != nil {
		return f
	}
	if client.IsPrefetch(r.Header) || client.IsBot(r.UserAgent(), c.cfg.CountHeadless) {
		c.ignored.Add(1)
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	salt, at, err := c.salts.today(r.Context(), s.Location())
	if err != nil {
		return c.notStored("no salt for visitor hashes", err)
	}
	d.Guard()
	e := d.Event(s.ID, s.Domain, at)
	e.Visitor = visitorOf(&salt, s.ID, from, r.UserAgent())
	e.Browser, e.Device = client.Agent(r.UserAgent())
	if d.Sequence.Page != "" {
		e.At = c.order.At(order.Page{Site: s.ID, Visitor: e.Visitor, ID: d.Sequence.Page}, d.Sequence.Number, e.At, s.Location())
	}
	if f := c.keep(r.Context(), &s, e); f != nil {
		return f
	}
	c.fromBrowsers.stored()
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// admit refuses events from pages that are not on the site's domain, and lets the site's
// pages read the answer.
func admit(w http.ResponseWriter, r *http.Request, s *account.Site, d *event.Draft) *failure {
	if origin := r.Header.Get("Origin"); origin != "" {
		if !event.IsOn(s.Domain, hostOfOrigin(origin)) {
			return &failure{status: http.StatusForbidden, code: "forbidden", message: "pages of " + event.Quote(origin) + " may not send events for " + event.Quote(s.Domain)}
		}
		allowOrigin(w, origin)
	}
	return checkPage(s, d, event.Browser.URL)
}

func allowOrigin(w http.ResponseWriter, origin string) {
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Allow-Credentials", "true") // sendBeacon always sends in credentials mode
}

// preflight allows the origins of all sites, because a preflight request does not name the
// site. t.js needs no preflight; a page that sends application/json does.
func (c *Collector) preflight(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	host := hostOfOrigin(origin)
	for _, s := range c.account.Sites() {
		if event.IsOn(s.Domain, host) {
			allowOrigin(w, origin)
			w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
			w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
			w.Header().Set("Access-Control-Max-Age", "600")
			break
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// hostOfOrigin returns "" for "null" and for origins other than http and https.
func hostOfOrigin(origin string) string {
	p, reason := event.ParsePage(origin)
	if reason != "" || p.Path != "" || p.Query != "" || strings.HasSuffix(origin, "#") {
		return ""
	}
	return p.Host
}
