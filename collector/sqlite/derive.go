package sqlite

import "context"

// derived is data computed from a snapshot of a span. It is kept unless the span has changed
// meanwhile.
type derived struct {
	watch
	read func(*reading) error
	keep func(*writer) error
	kept bool
}

// derive computes and keeps d. Only one call may run at a time.
func (s *Store) derive(ctx context.Context, d *derived) (kept bool, err error) {
	watching := func(w *writer) error {
		w.watch = &d.watch
		return nil
	}
	if err := s.write(ctx, watching); err != nil {
		return false, err
	}
	if err := s.stateOf(ctx, d.site, d.from, d.to, d.read); err != nil {
		return false, err
	}
	err = s.write(ctx, func(w *writer) error {
		w.watch = nil
		if d.kept = !d.changed; d.kept {
			return d.keep(w)
		}
		return nil
	})
	if err != nil { // the writer may still be using d
		return false, err
	}
	return d.kept, nil
}
