package spool

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/footfall-dev/footfall"
)

// A record of the file. Its key is eight bytes that count up, so that the oldest comes
// first; its value is
//
//	checksum  4 bytes, CRC-32C of the key and the rest of the value
//	run       8 bytes, which Spool wrote it
//	id        16 bytes, UUIDv7
//	body      the rest
type record struct {
	key  uint64
	run  uint64
	rec  footfall.Record
	size int // of the value
}

const (
	keySize    = 8
	headerSize = 4 + 8 + 16

	// none is a key that no record has.
	none = 1<<64 - 1
)

// errDamaged is about a file that is not as it was written.
var errDamaged = errors.New("damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendKey(dst []byte, key uint64) []byte { return binary.BigEndian.AppendUint64(dst, key) }

// encode writes the value of r into dst, which has room for it.
func encode(dst []byte, key, run uint64, r *footfall.Record) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, run)
	dst = append(dst, r.ID[:]...)
	dst = append(dst, r.Body...)
	binary.BigEndian.PutUint32(dst[start:], checksum(key, dst[start+4:]))
	return dst
}

func checksum(key uint64, rest []byte) uint32 {
	var k [keySize]byte
	binary.BigEndian.PutUint64(k[:], key)
	return crc32.Update(crc32.Checksum(k[:], castagnoli), castagnoli, rest)
}

// decode returns the record that k and v are, whose Body is a part of v.
func decode(k, v []byte) (record, error) {
	if len(k) != keySize || len(v) < headerSize {
		return record{}, errDamaged
	}
	r := record{key: binary.BigEndian.Uint64(k), run: binary.BigEndian.Uint64(v[4:]), size: len(v)}
	if checksum(r.key, v[4:]) != binary.BigEndian.Uint32(v) {
		return record{}, errDamaged
	}
	r.rec.ID = [16]byte(v[12:headerSize])
	r.rec.Body = v[headerSize:len(v):len(v)]
	return r, nil
}

// made returns when the event was tracked, which its UUIDv7 says.
func (r *record) made() time.Time {
	ms := binary.BigEndian.Uint64(r.rec.ID[:8]) >> 16
	return time.UnixMilli(int64(ms))
}

// older reports whether the event is older than limit. One from the future, because the
// clock was set back since, has no age.
func (r *record) older(limit time.Duration, now time.Time) bool {
	return limit > 0 && now.Sub(r.made()) > limit
}
