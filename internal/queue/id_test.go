package queue

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIDIsAUUIDv7WithItsTimeInside(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{
		"now":                  time.Now(),
		"first of a millisec.": time.UnixMilli(1763660000123),
		"last of a millisec.":  time.UnixMilli(1763660000123).Add(time.Millisecond - 1),
		"far ahead":            time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := NewID(at.UnixNano(), rand.Uint64())
			assert.Equal(t, uuid.Version(7), id.Version())
			assert.Equal(t, uuid.RFC4122, id.Variant())
			var ms int64
			for _, b := range id[:6] {
				ms = ms<<8 | int64(b)
			}
			assert.Equal(t, at.UnixMilli(), ms)
			parsed, err := uuid.Parse(id.String())
			require.NoError(t, err)
			assert.Equal(t, id, parsed)
		})
	}
}

func TestIDsAreUniqueEvenOfOneInstant(t *testing.T) {
	t.Parallel()
	const n = 1_000_000
	at := time.Now()
	seen := make(map[uuid.UUID]struct{}, n)
	var ones, zeros uuid.UUID // bits that were ever set, or ever clear
	for range n {
		id := NewID(at.UnixNano(), rand.Uint64())
		seen[id] = struct{}{}
		for i := range id {
			ones[i] |= id[i]
			zeros[i] |= ^id[i]
		}
	}
	assert.Len(t, seen, n)
	for i := 9; i < 16; i++ {
		assert.Equal(t, byte(0xff), ones[i]&zeros[i], "byte %d does not vary in all bits", i)
	}
	assert.Equal(t, byte(0x3f), ones[8]&zeros[8], "byte 8 varies in its 6 low bits")
}

func TestIDsAreOrderedByTime(t *testing.T) {
	t.Parallel()
	// A step of the fraction's 12 bits is 244 ns.
	at := time.UnixMilli(1763660000000)
	last := NewID(at.UnixNano(), rand.Uint64())
	for range 100_000 {
		at = at.Add(250 * time.Nanosecond)
		id := NewID(at.UnixNano(), rand.Uint64())
		require.Negative(t, bytes.Compare(last[:], id[:]), "%s before %s", last, id)
		last = id
	}
}
