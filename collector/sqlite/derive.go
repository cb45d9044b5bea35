package sqlite

import "context"

// derived is data computed from a snapshot of a span. It is saved unless the span has changed
// meanwhile.
type derived struct {
	watch
	read  func(*reading) error
	save  func(*writer) error
	saved bool
}

// derive computes and saves d. Only one call may run at a time.
func (c *compactor) derive(ctx context.Context, d *derived) (saved bool, err error) {
	watching := func(w *writer) error {
		w.watch = &d.watch
		return nil
	}
	if err := c.write(ctx, watching); err != nil {
		return false, err
	}
	if err := c.stateOf(ctx, d.site, d.from, d.to, d.read); err != nil {
		return false, err
	}
	err = c.write(ctx, func(w *writer) error {
		w.watch = nil
		if d.saved = !d.changed; d.saved {
			return d.save(w)
		}
		return nil
	})
	if err != nil { // the writer may still be using d
		return false, err
	}
	return d.saved, nil
}
