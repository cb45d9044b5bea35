package collector

import (
	"net/http"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/dashboard"
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
	p := &patient{ResponseWriter: w, control: http.NewResponseController(w), timeout: c.cfg.WriteTimeout}
	defer c.recoverPage(p, r)
	c.dashboard.ServeHTTP(p, r)
}

// recoverPage does what net/http would, but does not log the client's address.
func (c *Collector) recoverPage(p *patient, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		c.logPanic(r, v)
	}
	if p.begun || v == http.ErrAbortHandler {
		panic(http.ErrAbortHandler) // what was sent must not look whole
	}
	http.Error(p, "the collector failed; its log says why", http.StatusInternalServerError)
}

// patient moves the write deadline on with each write: a stream and a large export may
// last, a client that takes nothing for so long is cut off.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	begun   bool // a status was sent
}

// WriteHeader implements http.ResponseWriter.
func (p *patient) WriteHeader(status int) {
	p.begun = true
	p.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	p.begun = true
	p.extend()
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (p *patient) Flush() { _ = p.FlushError() } // the client may be gone

// FlushError is what http.ResponseController asks for.
func (p *patient) FlushError() error {
	p.begun = true
	p.extend()
	return p.control.Flush()
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *patient) extend() {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout)) // not all writers can
}
