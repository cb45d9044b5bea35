// Package settler provides the cheapest possible transport.
package settler

import (
	"context"
	"sync/atomic"

	"github.com/footfall-dev/footfall"
)

// Settler is a footfall.Transport that settles each record at once.
type Settler struct {
	Settled atomic.Int64 // records so far
}

var _ footfall.Transport = (*Settler)(nil)

// Deliver implements footfall.Transport.
func (s *Settler) Deliver(ctx context.Context, src *footfall.Source) {
	var records [512]footfall.Record
	for {
		if _, ok := src.Wait(ctx); !ok {
			return
		}
		for n := src.Take(records[:]); n > 0; n = src.Take(records[:]) {
			src.Settle(records[:n], footfall.OutcomeDelivered, nil)
			s.Settled.Add(int64(n))
		}
	}
}
