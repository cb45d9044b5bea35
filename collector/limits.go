package collector

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/distinct"
	"github.com/footfall-dev/footfall/collector/store"
)

// countToday counts the texts of earlier runs. That may take a minute, so it does not delay the start:
// until it has ended, events of browsers may have as many new texts as the bounds allow.
func (c *Collector) countToday() {
	c.awaitFigures()
	for {
		err := c.loadLimits(c.ending, time.Now())
		if err == nil {
			close(c.counted)
			return
		}
		if c.ending.Err() == nil {
			c.trouble("the distinct texts of today's events are not counted, will retry", err)
		}
		select {
		case <-time.After(choreEvery):
		case <-c.ending.Done():
			return
		}
	}
}

// awaitFigures waits, for a minute at most, until the store has computed the figures that it did not have
// when it was opened: they make counting many times faster.
func (c *Collector) awaitFigures() {
	st, ok := c.store.(store.Backlogged)
	if !ok {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for begun := time.Now(); time.Since(begun) < choreEvery; {
		if _, some := st.Backlog(); !some {
			return
		}
		select {
		case <-ticker.C:
		case <-c.ending.Done():
			return
		}
	}
}

// loadLimits counts the texts and props of the day's events of browsers, so that the bounds survive
// a restart.
func (c *Collector) loadLimits(ctx context.Context, now time.Time) error {
	today := dayOf(now)
	for _, s := range c.account.Sites() {
		q := store.Query{Site: s.ID, From: today, To: today.AddDate(0, 0, 1)}
		if err := c.loadTexts(ctx, q, now); err != nil {
			return err
		}
		err := c.store.EachProp(ctx, q, func(name string, visitor bool, p store.Prop) {
			if visitor {
				c.limits.AddProp(s.ID, now, name, p)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loadTexts counts the texts that browsers sent. Rows without visitors are of backends.
func (c *Collector) loadTexts(ctx context.Context, q store.Query, now time.Time) error {
	var asked []store.Question
	bounds := distinct.Fields()
	for _, d := range store.Dimensions() {
		most, bounded := bounds[d.Field]
		if !bounded {
			continue
		}
		asked = append(asked, store.Question{Counts: d.Counts, By: d.Field, Limit: loadFactor * most})
	}
	answers, err := c.store.Ask(ctx, q, asked...)
	for i, answer := range answers {
		for _, row := range answer.Rows {
			if row.Visitors > 0 {
				c.limits.AddText(q.Site, now, asked[i].By, row.Value)
			}
		}
	}
	return err
}

// loadFactor leaves room for the texts of backends, which have no bounds.
const loadFactor = 4

// limit replaces what is beyond the bounds of a day in an event.
func (c *Collector) limit(e *store.Event) {
	if c.limits.Limit(e) {
		c.log.Warn("collector: today's events of browsers have too many distinct names, pages, sources or props: further ones are stored as "+store.Other,
			"site", e.Site, "event", e.Name)
	}
}
