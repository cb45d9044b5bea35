package collector

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// serveHealth reports whether the store answers. The endpoint is public and reveals nothing
// about sites; ignored counts events of bots and prefetching browsers since the start.
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
