package collector

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// serveHealth says whether the store answers. It is public, so it tells nothing about
// the sites; ignored counts what bots and prefetching browsers sent since the start.
func (c *Collector) serveHealth(w http.ResponseWriter, r *http.Request) *failure {
	if !allows(http.MethodGet, r.Method) {
		return wrongMethod(http.MethodGet)
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if _, err := c.store.Records(ctx, kindSalt); err != nil {
		c.trouble("the store does not answer", err)
		return unavailable("the store does not answer")
	}
	writeJSON(w, http.StatusOK, fmt.Appendf(nil, `{"status":"ok","ignored":%d}`, c.ignored.Load()))
	return nil
}
