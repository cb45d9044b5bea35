package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// catchUpTimeout replaces Config.ReportTimeout while the store computes the figures that it did not have
// when it was opened: the page then says how far the store is, and comes back by itself.
const catchUpTimeout = 5 * time.Second

// errSlow is returned if the figures of a page take longer than Config.ReportTimeout.
var errSlow = errors.New("dashboard: the report took too long")

// limited returns a context for the figures of a page.
func (b *board) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := b.ReportTimeout
	if b.backlog() != "" {
		timeout = min(timeout, catchUpTimeout)
	}
	return context.WithTimeoutCause(ctx, timeout, errSlow)
}

// isSlow reports whether the time for the figures of a page is over.
func isSlow(ctx context.Context) bool { return context.Cause(ctx) == errSlow }

// inTime bounds the time of do.
func (b *board) inTime(do siteAction) siteAction {
	return func(w http.ResponseWriter, r *http.Request, site account.Site) error {
		ctx, cancel := b.limited(r.Context())
		defer cancel()
		err := do(w, r.WithContext(ctx), site)
		if err != nil && isSlow(ctx) {
			return fmt.Errorf("%w: %w", errSlow, err)
		}
		return err
	}
}

// backlog says how far the store is with the figures that it did not have when it was opened; "" if it has
// all of them.
func (b *board) backlog() string {
	st, ok := b.Store.(store.Backlogged)
	if !ok {
		return ""
	}
	log, some := st.Backlog()
	switch {
	case !some:
		return ""
	case log.Days == 0:
		return "The service has just started, and looks for figures that it has to compute."
	}
	text := fmt.Sprintf("The service computes the figures of earlier events since its start: %s of %s of all sites",
		count(int64(log.Done)), plural(log.Days, "day"))
	if log.Events > 0 {
		text += ", and " + plural(log.Events, "event") + " of the next day,"
	}
	return text + " are done."
}
