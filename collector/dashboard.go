package collector

import (
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/collector/dashboard"
	"github.com/footfall-dev/footfall/collector/internal/patient"
)

// newDashboard returns the handler of all other paths.
func newDashboard(c *Collector) http.Handler {
	return dashboard.New(dashboard.Config{
		Account:    c.account,
		Store:      c.store,
		Live:       &c.live,
		Logger:     c.log,
		PublicURL:  c.cfg.PublicURL,
		Secure:     strings.HasPrefix(c.cfg.PublicURL, "https://"),
		Client:     c.client,
		Done:       c.endLive.Done(),
		EndExports: c.endExport.Done(),
	})
}

// serveDashboard extends the write deadline with each write, so that long answers finish.
func (c *Collector) serveDashboard(w http.ResponseWriter, r *http.Request) {
	if c.closing.Load() {
		http.Error(w, "the service is closing", http.StatusServiceUnavailable)
		return
	}
	p := patient.New(w, c.cfg.WriteTimeout)
	defer c.recoverPage(p, r)
	c.dashboard.ServeHTTP(p, r)
}

// recoverPage does the work of net/http's recover without logging the client's address.
func (c *Collector) recoverPage(p *patient.Writer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		c.logPanic(r, v)
	}
	if p.Begun() || v == http.ErrAbortHandler {
		panic(http.ErrAbortHandler) // cut the answer, so that it does not look complete
	}
	http.Error(p, "the service failed; its log says why", http.StatusInternalServerError)
}
