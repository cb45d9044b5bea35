package collector

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// loadProps counts the props of the day's events, so that the bounds survive a restart.
func (c *Collector) loadProps(ctx context.Context, now time.Time) error {
	today := dayOf(now)
	for _, s := range c.account.Sites() {
		q := store.Query{Site: s.ID, From: today, To: today.AddDate(0, 0, 1)}
		err := c.store.EachProp(ctx, q, func(name string, visitor bool, p store.Prop) {
			c.props.Add(s.ID, now, name, visitor, p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// limitProps replaces the props of an event that are beyond the bounds of a day.
func (c *Collector) limitProps(e *store.Event) {
	if _, first := c.props.Limit(e); first {
		c.log.Warn("collector: today's events have too many distinct props: further ones are stored as "+store.Other,
			"site", e.Site, "event", e.Name, "browser", e.Visitor != 0)
	}
}
