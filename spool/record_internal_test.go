package spool

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	for _, id := range []string{"", "evt_1"} {
		rec := footfall.Record{ID: [16]byte{1, 2, 3, 15: 9}, Body: []byte(`{"a":1}`)}
		if id != "" {
			rec.Key = []byte(id)
		}
		k, v := appendKey(nil, 77), encode(nil, 77, 4711, time.Hour, &rec)
		got, err := decode(k, v)
		require.NoError(t, err)
		assert.Equal(t, record{key: 77, run: 4711, rec: rec, stored: time.Hour, size: sizeOf(&rec)}, got)
		assert.Len(t, v, sizeOf(&rec))
	}
}

func TestAFlippedBitInARecordIsDetected(t *testing.T) {
	rec := footfall.Record{ID: [16]byte{1, 2, 3}, Body: []byte(`{"a":1}`)}
	k, v := appendKey(nil, 77), encode(nil, 77, 4711, time.Hour, &rec)
	whole := append(k, v...)
	for bit := range 8 * len(whole) {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		_, err := decode(damaged[:keySize], damaged[keySize:])
		require.ErrorIs(t, err, errDamaged, "bit %d", bit)
	}
	for n := range v {
		_, err := decode(k, v[:n])
		require.ErrorIs(t, err, errDamaged, "%d bytes", n)
	}
}

// plain returns the value of a record in the format of the first version.
func plain(key, run uint64, r *footfall.Record) []byte {
	v := binary.BigEndian.AppendUint64(make([]byte, 4), run)
	v = append(append(v, r.ID[:]...), r.Body...)
	binary.BigEndian.PutUint32(v, checksum(key, v[4:]))
	return v
}

func TestARecordOfTheFirstVersionIsReadAsItWasWritten(t *testing.T) {
	for _, body := range []string{"", "{}", `{"site_id":"site_1","name":"order_paid"}`} {
		rec := footfall.Record{ID: [16]byte{1, 2, 3, 15: 9}, Body: []byte(body)}
		v := plain(77, 4711, &rec)
		got, err := decode(appendKey(nil, 77), v)
		require.NoError(t, err)
		assert.Equal(t, record{key: 77, run: 4711, rec: rec, size: 28 + len(body)}, got)
	}
}

func TestRoomOfAnArenaDoesNotOverlap(t *testing.T) {
	var a arena
	var all [][]byte
	for n := range 2000 {
		room := append(a.room(n%300+1), bytes.Repeat([]byte{byte(n)}, n%300+1)...)
		all = append(all, room)
	}
	large := a.room(3 * blockSize)
	assert.GreaterOrEqual(t, cap(large), 3*blockSize)
	for n, room := range all {
		require.Equal(t, bytes.Repeat([]byte{byte(n)}, n%300+1), room)
		require.Equal(t, len(room), cap(room), "nobody writes into the next one")
	}
}

func TestAConditionIsLoggedAtItsBeginningAndRarelyAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		var n notices
		for range 100 {
			n.down(log, "dir", errDamaged)
			n.full(log, &Config{})
			n.expired(log, &Config{}, 5)
		}
		assert.Equal(t, 1, strings.Count(out.String(), "level=ERROR"))
		assert.Equal(t, 2, strings.Count(out.String(), "level=WARN"))
		n.up(log, "dir")
		n.up(log, "dir")
		assert.Equal(t, 1, strings.Count(out.String(), "level=INFO"))
		n.down(log, "dir", errDamaged)
		assert.Equal(t, 1, strings.Count(out.String(), "level=ERROR"), "it comes and goes")
		time.Sleep(2 * boundAgain)
		n.down(log, "dir", errDamaged)
		n.full(log, &Config{})
		n.expired(log, &Config{}, 5)
		assert.Equal(t, 2, strings.Count(out.String(), "level=ERROR"))
		assert.Equal(t, 3, strings.Count(out.String(), "level=WARN"), "nothing has expired since")
	})
}

func TestDefaultsAreAsDocumented(t *testing.T) {
	c := Config{}.withDefaults()
	assert.Equal(t, int64(256<<20), c.MaxBytes)
	assert.Equal(t, 168*time.Hour, c.MaxAge)
	assert.NotNil(t, c.Logger)
}
