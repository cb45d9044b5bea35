package collector

import (
	"context"
	"errors"
	"time"
)

// choreEvery is how often it is looked whether a day is over. A timer until midnight
// would be late by the time that a laptop sleeps.
const choreEvery = time.Minute

// doChores destroys the salt of a day that is over and removes old events, until the
// collector closes.
func (c *Collector) doChores() {
	defer close(c.chored)
	ticker := time.NewTicker(choreEvery)
	defer ticker.Stop()
	var forgotten time.Time // day of the last removal that went well
	for {
		if err := c.chore(&forgotten); err != nil && c.ending.Err() == nil {
			c.trouble("daily work failed and is tried again", err)
		}
		select {
		case <-ticker.C:
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

// forget removes events older than Config.Retention. Days are kept whole, for their
// figures are.
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
