package spool

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/envelope"
)

// record is a record of the file. Its key has eight bytes and counts up, so that the oldest
// record is the first. Its value is
//
//	checksum  4 bytes, CRC-32C of the key and the rest of the value
//	run       8 bytes, the Spool that wrote it
//	id        16 bytes, UUIDv7
//	stored    8 bytes, reading of the file's clock in nanoseconds
//	body      the rest, in an envelope if the application has set Event.ID
//
// The bits of the checksum are inverted. If they are not, an earlier version wrote the record.
// Such a record has no stored, which is then zero.
type record struct {
	key    uint64
	run    uint64
	rec    footfall.Record
	stored time.Duration
	size   int // of the value
}

const (
	keySize    = 8
	plainSize  = 4 + 8 + 16 // of a header without stored
	headerSize = plainSize + 8
	clockKey   = 0 // key of the record, without a body, that stores the clock

	// none is never the key of a record.
	none = 1<<64 - 1
)

var bucketName = []byte("events")

// errDamaged is wrapped by errors about a damaged file.
var errDamaged = errors.New("damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendKey(dst []byte, key uint64) []byte { return binary.BigEndian.AppendUint64(dst, key) }

// encode appends the value of r to dst, which has room for it.
func encode(dst []byte, key, run uint64, stored time.Duration, r *footfall.Record) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, run)
	dst = append(dst, r.ID[:]...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(stored))
	dst = append(envelope.Append(dst, r.Key), r.Body...)
	binary.BigEndian.PutUint32(dst[start:], ^checksum(key, dst[start+4:]))
	return dst
}

// sizeOf returns the size of the value of r.
func sizeOf(r *footfall.Record) int { return headerSize + envelope.Size(r.Key) + len(r.Body) }

func checksum(key uint64, rest []byte) uint32 {
	var k [keySize]byte
	binary.BigEndian.PutUint64(k[:], key)
	return crc32.Update(crc32.Checksum(k[:], castagnoli), castagnoli, rest)
}

// decode returns the record with key k and value v. Its Body is a part of v.
func decode(k, v []byte) (record, error) {
	if len(k) != keySize || len(v) < plainSize {
		return record{}, errDamaged
	}
	r := record{key: binary.BigEndian.Uint64(k), run: binary.BigEndian.Uint64(v[4:]), size: len(v)}
	header := plainSize
	switch sum := checksum(r.key, v[4:]); {
	case binary.BigEndian.Uint32(v) == sum: // of an earlier version
	case binary.BigEndian.Uint32(v) == ^sum && len(v) >= headerSize:
		header = headerSize
		r.stored = time.Duration(binary.BigEndian.Uint64(v[plainSize:]))
	default:
		return record{}, errDamaged
	}
	r.rec.ID = [16]byte(v[12:plainSize])
	r.rec.Key, r.rec.Body = envelope.Split(v[header:len(v):len(v)])
	return r, nil
}
