package collector

import (
	"context"
	"errors"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// choreEvery is the interval of chores. A timer until midnight would be late on a laptop
// that slept.
const choreEvery = time.Minute

// doChores destroys the salts of past days and removes old events, until the collector
// closes.
func (c *Collector) doChores() {
	ticker := time.NewTicker(choreEvery)
	defer ticker.Stop()
	var forgetting, searching daily
	for {
		if err := c.chore(&forgetting, &searching); err != nil && c.ending.Err() == nil {
			c.trouble("daily maintenance failed, will retry", err)
		}
		select {
		case <-ticker.C:
		case <-c.ending.Done():
			return
		}
	}
}

// finishDeletions removes the events of deleted sites, until the collector closes. It is no chore,
// because it may take minutes.
func (c *Collector) finishDeletions() {
	ticker := time.NewTicker(choreEvery)
	defer ticker.Stop()
	for {
		for _, d := range c.account.Deletions() {
			if err := c.account.FinishDeletion(c.ending, d); err != nil && c.ending.Err() == nil {
				c.trouble("the events of a deleted site are not removed yet, will retry", err)
			}
		}
		select {
		case <-ticker.C:
		case <-c.account.Deleted():
		case <-c.ending.Done():
			return
		}
	}
}

// daily does work once a day.
type daily struct{ last time.Time }

// do calls work with the day, unless it has succeeded on this day.
func (d *daily) do(ctx context.Context, work func(ctx context.Context, today time.Time) error) error {
	today := dayOf(time.Now())
	if today.Equal(d.last) {
		return nil
	}
	err := work(ctx, today)
	if err == nil {
		d.last = today
	}
	return err
}

func (c *Collector) chore(forgetting, searching *daily) error {
	ctx, cancel := context.WithTimeout(c.ending, choreEvery)
	defer cancel()
	c.failures.prune()
	c.browsers.prune()
	c.activity.prune(c.account)
	c.limits.Prune(func(site string) bool {
		_, ok := c.account.Site(site)
		return ok
	})
	return errors.Join(c.salts.roll(ctx), searching.do(ctx, c.findOrphans), forgetting.do(ctx, c.forget))
}

// findOrphans warns of events whose site does not exist, and of their removal.
func (c *Collector) findOrphans(ctx context.Context, _ time.Time) error {
	expired, err := c.account.FindOrphans(ctx)
	for _, o := range expired {
		c.log.Warn("collector: the events of a site that does not exist are removed now", "site", o.Site, "found", o.Found)
	}
	if err != nil {
		return err
	}
	for _, o := range c.account.Orphans() {
		all, err := c.store.Totals(ctx, store.Query{Site: o.Site, From: time.UnixMilli(0), To: o.Until().AddDate(1, 0, 0)})
		if err != nil {
			return err
		}
		c.log.Warn("collector: events belong to a site that does not exist, and will be removed: to keep them, add the site on the page of sites",
			"site", o.Site, "events", all.Pageviews+all.Events, "found", o.Found, "removed_after", o.Until())
	}
	return nil
}

// forget removes events older than Config.Retention, in whole days because figures are kept
// by day.
func (c *Collector) forget(ctx context.Context, today time.Time) error {
	if c.cfg.Retention == 0 {
		return nil
	}
	before := dayOf(today.Add(-c.cfg.Retention))
	var problems []error
	for _, s := range c.account.Sites() {
		problems = append(problems, c.store.Forget(ctx, s.ID, before))
	}
	for _, o := range c.account.Orphans() {
		problems = append(problems, c.store.Forget(ctx, o.Site, before))
	}
	return errors.Join(problems...)
}
