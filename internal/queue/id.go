package queue

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// NewID makes a UUIDv7 (RFC 9562, section 5.7): 48 bits of milliseconds, 12 bits of their
// fraction (section 6.2, method 3) and the 62 low bits of random. uuid.NewV7 has the same
// layout but takes a lock and the system's random source for each; an idempotency key
// must be unique, not secret.
func NewID(unixNano int64, random uint64) (id uuid.UUID) {
	ns := uint64(unixNano)
	ms := ns / 1e6
	fraction := (ns % 1e6) << 12 / 1e6
	binary.BigEndian.PutUint64(id[:8], ms<<16|0x7000|fraction)
	binary.BigEndian.PutUint64(id[8:], random&(1<<62-1)|1<<63)
	return id
}
