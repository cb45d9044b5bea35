package collector

import (
	"context"
	"net/http"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/event"
	"github.com/footfall-dev/footfall/collector/store"
)

// accepted is the answer to an event, as the contract has it.
var accepted = []byte(`{"accepted":true}`)

// maxIdempotencyKey bounds an Idempotency-Key, in bytes.
const maxIdempotencyKey = 255

// postEvent accepts an event from a backend. It checks the key's rate limit before it reads
// the body, so that refusals are cheap.
func (c *Collector) postEvent(w http.ResponseWriter, r *http.Request, key account.Key) *failure {
	if wait := c.keys.take(key.ID); wait > 0 {
		return rateLimited("too many events with this API key", wait)
	}
	repeat, f := idempotencyKey(r)
	if f == nil {
		f = checkMediaType(r, "application/json")
	}
	if f != nil {
		return f
	}
	d, f := readEvent(r, &event.API)
	if f != nil {
		return f
	}
	s, ok := c.account.Site(d.Site)
	if !ok {
		return noSuchSite("id", d.Site)
	}
	if s.OwnPages {
		f = checkPage(&s, &d, event.API.URL)
	}
	if f != nil {
		return f
	}
	e := d.Event(s.ID, s.Domain, time.Now())
	e.Key = repeat
	if f := c.keep(r.Context(), &s, e); f != nil {
		return f
	}
	c.fromAPI.stored()
	writeJSON(w, http.StatusAccepted, accepted)
	return nil
}

// checkPage refuses an event whose URL is not on the site's domain.
func checkPage(s *account.Site, d *event.Draft, field string) *failure {
	if !event.IsOn(s.Domain, d.Page.Host) {
		return invalid(field, "is not on "+event.Quote(s.Domain))
	}
	return nil
}

func idempotencyKey(r *http.Request) (string, *failure) {
	const field = "Idempotency-Key"
	values := r.Header[field]
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", invalid(field, "appears twice")
	case values[0] == "":
		return "", invalid(field, "is empty")
	case len(values[0]) > maxIdempotencyKey:
		return "", invalid(field, "is longer than 255 bytes")
	}
	for i := range len(values[0]) {
		if b := values[0][i]; b < ' ' || b > '~' {
			return "", invalid(field, "has a character that is not printable ASCII")
		}
	}
	return values[0], nil
}

// keep stores e, unless it is a duplicate, and returns nil when it is committed. It goes on if the
// client disconnects: the event has arrived completely. Live views get what is added in time.
func (c *Collector) keep(ctx context.Context, s *account.Site, e store.Event) *failure {
	if s.Paused {
		return &failure{status: http.StatusConflict, code: "site_paused", message: "tracking of the site " + event.Quote(s.Domain) + " is paused"}
	}
	defer c.pending.Add(-1)
	if c.pending.Add(1) > int64(c.cfg.MaxPending) {
		return unavailable("too many events are waiting to be stored")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.CommitTimeout)
	defer cancel()
	c.limit(&e)
	added, err := c.store.Add(ctx, e)
	if err != nil {
		return c.notStored("an event could not be stored", err)
	}
	c.activity.saw(e.Site, e.At)
	if added {
		c.live.Publish(e)
	}
	return nil
}

// notStored is the answer to an event that the store does not take.
func (c *Collector) notStored(why string, err error) *failure {
	c.health.failed.Store(true)
	c.trouble(why, err)
	return unavailable("the event could not be stored")
}

// trouble logs a failure of the store, at most once per quiet period, because every request
// can meet it.
func (c *Collector) trouble(what string, err error) {
	if missed, ok := c.troubled.now(time.Now()); ok {
		c.log.Error("collector: "+what, "error", err, "more_since_the_last_line", missed)
	}
}
