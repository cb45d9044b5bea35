package collector

import (
	"context"
	"errors"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// choreEvery is the interval of work in the background. A timer until midnight would be late on a laptop
// that slept.
const choreEvery = time.Minute

// repeat does work at once, at intervals, and when wake receives, until the collector closes. It logs
// what failed.
func (c *Collector) repeat(wake <-chan struct{}, failed string, work func(context.Context) error) {
	ticker := time.NewTicker(choreEvery)
	defer ticker.Stop()
	for {
		if err := work(c.ending); err != nil && c.ending.Err() == nil {
			c.trouble(failed+", will retry", err)
		}
		select {
		case <-ticker.C:
		case <-wake:
		case <-c.ending.Done():
			return
		}
	}
}

// doChores destroys the salts of past days and does other short work.
func (c *Collector) doChores() {
	var searching daily
	c.repeat(nil, "daily maintenance failed", func(ctx context.Context) error { return c.chore(ctx, &searching) })
}

// finishDeletions removes the events of deleted sites. It is no chore, because it may take minutes.
func (c *Collector) finishDeletions() {
	c.repeat(c.account.Deleted(), "the events of a deleted site are not removed yet", func(ctx context.Context) error {
		var problems []error
		for _, d := range c.account.Deletions() {
			problems = append(problems, c.account.FinishDeletion(ctx, d))
		}
		return errors.Join(problems...)
	})
}

// keepRetention removes old events once a day. It is no chore, because it may take minutes.
func (c *Collector) keepRetention() {
	var forgetting daily
	c.repeat(nil, "old events are not removed yet", func(ctx context.Context) error { return forgetting.do(ctx, c.forget) })
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

func (c *Collector) chore(ctx context.Context, searching *daily) error {
	ctx, cancel := context.WithTimeout(ctx, choreEvery)
	defer cancel()
	c.failures.prune()
	c.browsers.prune()
	c.activity.prune(c.account)
	c.limits.Prune(func(site string) bool {
		_, ok := c.account.Site(site)
		return ok
	})
	return errors.Join(c.salts.roll(ctx), searching.do(ctx, c.findOrphans))
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
		answers, err := c.store.Ask(ctx, store.Query{Site: o.Site, From: time.UnixMilli(0), To: o.Until().AddDate(1, 0, 0)}, store.Question{})
		if err != nil {
			return err
		}
		c.log.Warn("collector: events belong to a site that does not exist, and will be removed: to keep them, add the site on the page of sites",
			"site", o.Site, "events", answers[0].Totals.Pageviews+answers[0].Totals.Events, "found", o.Found, "removed_after", o.Until())
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

// dayOf returns the start of the UTC day of a time.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
