package collector

import (
	"context"
	"errors"
	"time"
)

// choreEvery is the interval of chores. A timer until midnight would be late on a laptop
// that slept.
const choreEvery = time.Minute

// doChores destroys the salts of past days and removes old events, until the collector
// closes.
func (c *Collector) doChores() {
	ticker := time.NewTicker(choreEvery)
	defer ticker.Stop()
	var forgotten time.Time // day of the last successful removal
	for {
		if err := c.chore(&forgotten); err != nil && c.ending.Err() == nil {
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

func (c *Collector) chore(forgotten *time.Time) error {
	ctx, cancel := context.WithTimeout(c.ending, choreEvery)
	defer cancel()
	c.failures.prune()
	c.browsers.prune()
	c.activity.prune(c.account)
	c.props.Prune(func(site string) bool {
		_, ok := c.account.Site(site)
		return ok
	})
	err := c.salts.roll(ctx)
	if today := dayOf(time.Now()); !today.Equal(*forgotten) {
		old := c.forget(ctx, today)
		if old == nil {
			*forgotten = today
		}
		err = errors.Join(err, old)
	}
	return err
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
	return errors.Join(problems...)
}
