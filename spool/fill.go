package spool

import (
	"time"

	"github.com/footfall-dev/footfall"
)

// fill reads events from the file while the window has room.
func (o *owner) fill() {
	for o.store != nil {
		from, ok := o.feed.wants()
		if !ok {
			return
		}
		now, counted := time.Now(), 0
		seen := 0
		more, err := o.store.read(from, func(k, v []byte) error {
			r, err := decode(k, v)
			if err != nil {
				return err
			}
			more, n := o.feed.load(&r, o.runID, now, o.keep)
			counted += n
			if seen++; !more || seen > maxEvents {
				return errEnough
			}
			return nil
		})
		o.feed.moved(counted, footfall.OutcomeLost)
		if err != nil {
			o.fail(err)
			return
		}
		o.feed.atEnd(!more)
		if more {
			o.wakeOwner() // expired records are removed before more are read
			return
		}
	}
}

func (o *owner) keep(body []byte) []byte { return append(o.arena.room(len(body)), body...) }
