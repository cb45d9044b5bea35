package collector

import (
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/collector/dashboard"
	"github.com/footfall-dev/footfall/collector/internal/patient"
)

// newDashboard returns what serves everything that is neither API nor browser side.
func newDashboard(c *Collector) http.Handler {
	return dashboard.New(dashboard.Config{
		Account:   c.account,
		Store:     c.store,
		Live:      &c.live,
		Logger:    c.log,
		PublicURL: c.cfg.PublicURL,
		Secure:    strings.HasPrefix(c.cfg.PublicURL, "https://"),
		Client:    c.client,
		Done:      c.endLive.Done(),
	})
}

// serveDashboard lets answers take as long as they get on, unlike those of the API.
func (c *Collector) serveDashboard(w http.ResponseWriter, r *http.Request) {
	if c.closing.Load() {
		http.Error(w, "the collector is closing", http.StatusServiceUnavailable)
		return
	}
	p := patient.New(w, c.cfg.WriteTimeout)
	defer c.recoverPage(p, r)
	c.dashboard.ServeHTTP(p, r)
}

// recoverPage does what net/http would, but does not log the client's address.
func (c *Collector) recoverPage(p *patient.Writer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		c.logPanic(r, v)
	}
	if p.Begun() || v == http.ErrAbortHandler {
		panic(http.ErrAbortHandler) // what was sent must not look whole
	}
	http.Error(p, "the collector failed; its log says why", http.StatusInternalServerError)
}
