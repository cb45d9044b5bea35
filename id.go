package footfall

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"
)

// eventID is a UUIDv7 in two numbers, which are faster to hand on.
type eventID struct{ high, low uint64 }

// newID makes a UUIDv7 (RFC 9562, section 5.7): 48 bits of milliseconds, 12 bits
// of their fraction (section 6.2, method 3) and 62 random bits. uuid.NewV7 has
// the same layout but takes a lock and the system's random source for each; an
// idempotency key must be unique, not secret, which the runtime's ChaCha8 gives.
func newID(unixNano int64) eventID {
	ns := uint64(unixNano)
	ms := ns / 1e6
	fraction := (ns % 1e6) << 12 / 1e6
	return eventID{high: ms<<16 | 0x7000 | fraction, low: rand.Uint64()>>2 | 0x8000000000000000}
}

func (e eventID) uuid() (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], e.high)
	binary.BigEndian.PutUint64(id[8:], e.low)
	return id
}
