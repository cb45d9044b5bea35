package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/wire"
)

// search looks in the stream for events of other kinds (site and name) than those that the relay holds, while the
// API accepts nothing and there is no room for more: the API may accept those. The goroutine of fetch owns it.
type search struct {
	looked   time.Time // when it last looked
	returned time.Time // when room was last made for others although it had found none
	next     uint64    // position to look at next
	found    uint64    // position of an event of another kind
	blind    bool      // the user of the relay may not read events
}

const (
	// searched is how many positions a search looks at.
	searched = 256

	// sameEvery is how often, in units of AckWait, room is made for events that are of the same kinds. They may
	// be accepted although those that the relay holds are not.
	sameEvery = 10
)

// seesOthers reports whether the stream has events that the API may accept behind those that the relay holds. It
// looks once in AckWait.
func (r *Relay) seesOthers(ctx context.Context) bool {
	s, now, last := &r.search, time.Now(), r.feed.newest()
	if now.Sub(s.looked) < r.cfg.AckWait {
		return s.found > last // it comes closer with each request for messages
	}
	s.looked = now
	if s.blind || now.Sub(s.returned) >= sameEvery*r.cfg.AckWait {
		s.returned = now
		return true
	}
	s.next = max(s.next, last+1)
	if s.next > last+uint64(r.cfg.MaxAckPending) {
		s.next = last + 1 // the relays may not take more
	}
	found, err := r.searchFrom(ctx, r.feed.kinds())
	s.blind = err != nil && r.link.denied(messageGet+r.link.cfg.Name) != nil
	s.found = found
	return found > last
}

// searchFrom returns the position of the first event of another kind than those that are known, or 0.
func (r *Relay) searchFrom(ctx context.Context, known map[retry.Kind]bool) (position uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	s, err := r.link.js.Stream(ctx, r.link.cfg.Name)
	if err != nil {
		return 0, err
	}
	end := s.CachedInfo().State.LastSeq
	for range searched {
		if r.search.next > end {
			r.search.next = 0 // from the beginning the next time
			return 0, nil
		}
		m, err := s.GetMsg(ctx, r.search.next)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, err
		}
		r.search.next++
		if err == nil && !known[retry.NewKind(wire.SiteAndName(m.Data))] {
			return m.Sequence, nil
		}
	}
	return 0, nil
}
