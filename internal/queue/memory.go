package queue

import (
	"encoding/binary"
	"hash/crc32"
	"runtime/debug"
	"slices"

	"github.com/google/uuid"
)

// A slab in Options.Memory also describes its events there, so that ReadMemory finds them after
// the process was killed. Its memory is, in little-endian order,
//
//	magic     4 bytes, zero until the slab is used
//	checksum  4 bytes, CRC-32C of seed and unixStart
//	seed      8 bytes, random, another one each time the slab is used
//	unixStart 8 bytes
//
// and then for each event
//
//	checksum  4 bytes, CRC-32C of what follows settled, continued from the checksum of the slab
//	settled   4 bytes, the inverted checksum once the event is settled
//	at        8 bytes
//	length    4 bytes, of the body
//	slot      4 bytes
//	body
//
// A kill leaves whole instructions only, so an event that Put has accepted is complete. A power
// failure may leave any mixture of old and new pages; the checksums recognise what is whole.
// Events of an earlier use of the slab have another seed, so their checksums do not match.
const (
	slabSize   = 64 << 10
	slabHeader = 24
	bodyHeader = 24

	magic = 0xf007fa11 // another one for another format
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MemorySize returns the size of Options.Memory for a queue with these bounds. It is enough for
// a full queue of events of up to 22 KiB, whose slabs are not quite full, and for slabs that are
// not full because one of their events is in flight.
func MemorySize(maxEvents, maxBytes int) int {
	const inFlight, largest = 96, 1 << 30
	slabs := int64(maxBytes)/2*3/slabSize + int64(maxEvents)*bodyHeader/slabSize + inFlight
	return int(min(slabs*slabSize, largest))
}

// writeHeader writes the header before the first event of the slab.
func (s *slab) writeHeader() {
	h := s.mem[:slabHeader]
	binary.LittleEndian.PutUint32(h, 0) // not in use, should the process end below
	binary.LittleEndian.PutUint64(h[8:], s.seed)
	binary.LittleEndian.PutUint64(h[16:], uint64(s.unixStart))
	s.sum = crc32.Checksum(h[8:], castagnoli)
	binary.LittleEndian.PutUint32(h[4:], s.sum)
	binary.LittleEndian.PutUint32(h, magic)
}

// write writes an event at used and returns its end. It returns false if the memory has a fault,
// such as a mapped file on a disk that is full and has not kept room for it.
func (s *slab) write(slot, used int, at int64, body []byte) (end int, ok bool) {
	defer endGuard(debug.SetPanicOnFault(true))
	if slot == 0 {
		s.writeHeader()
	}
	start := used + bodyHeader
	end = start + len(body)
	e := s.mem[used:end]
	copy(e[bodyHeader:], body)
	binary.LittleEndian.PutUint32(e[20:], uint32(slot))
	binary.LittleEndian.PutUint32(e[16:], uint32(len(body)))
	binary.LittleEndian.PutUint64(e[8:], uint64(at))
	binary.LittleEndian.PutUint32(e[4:], 0)
	binary.LittleEndian.PutUint32(e, crc32.Update(s.sum, castagnoli, e[8:]))
	return end, true
}

// mark notes in the slab's memory that an event is settled.
func (s *slab) mark(slot int) {
	if !s.mapped {
		return
	}
	defer endGuard(debug.SetPanicOnFault(true))
	e := s.mem[s.end(slot-1):]
	binary.LittleEndian.PutUint32(e[4:], ^binary.LittleEndian.Uint32(e))
}

// endGuard is deferred by functions that write to mapped memory. It ends the panic of a fault.
func endGuard(before bool) {
	debug.SetPanicOnFault(before)
	if v := recover(); v != nil {
		if _, fault := v.(interface{ Addr() uintptr }); !fault {
			panic(v)
		}
	}
}

// ReadMemory calls visit for each event in the memory of a process that was killed, unless the
// event was settled. It returns how many damaged events or slabs it found; other damaged events
// are behind all others of their slab, and cannot be told from an event that was never accepted.
func ReadMemory(memory []byte, visit func(id uuid.UUID, body []byte)) (damaged int) {
	for slab := range slices.Chunk(memory, slabSize) {
		if len(slab) > slabHeader { // it was cut off otherwise
			damaged += readSlab(slab, visit)
		}
	}
	return damaged
}

func readSlab(mem []byte, visit func(id uuid.UUID, body []byte)) (damaged int) {
	switch binary.LittleEndian.Uint32(mem) {
	case 0:
		return 0
	case magic:
	default:
		return 1
	}
	sum := binary.LittleEndian.Uint32(mem[4:])
	if crc32.Checksum(mem[8:slabHeader], castagnoli) != sum {
		return 1
	}
	seed, unixStart := binary.LittleEndian.Uint64(mem[8:]), int64(binary.LittleEndian.Uint64(mem[16:]))
	var last found
	next := 0 // slot
	for used := slabHeader; used+bodyHeader < len(mem); {
		e, ok := readEvent(mem[used:], sum)
		if !ok || e.slot < next || e.at < last.at {
			used++ // a damaged length hides where the next event begins
			continue
		}
		damaged += e.slot - next
		if !e.settled {
			visit(NewID(e.at+unixStart, seed+uint64(e.slot)), e.body)
		}
		used += bodyHeader + len(e.body)
		last, next = e, e.slot+1
	}
	return damaged
}

// found is an event that readEvent has found.
type found struct {
	at      int64
	slot    int
	body    []byte
	settled bool
}

// readEvent reads the event at the beginning of mem.
func readEvent(mem []byte, sum uint32) (e found, ok bool) {
	size, slot := binary.LittleEndian.Uint32(mem[16:]), binary.LittleEndian.Uint32(mem[20:])
	if slot >= slabEntries || size == 0 || uint64(size) > uint64(len(mem)-bodyHeader) {
		return e, false
	}
	end := bodyHeader + int(size)
	check := binary.LittleEndian.Uint32(mem)
	if crc32.Update(sum, castagnoli, mem[8:end]) != check {
		return e, false
	}
	return found{
		at:      int64(binary.LittleEndian.Uint64(mem[8:])),
		slot:    int(slot),
		body:    mem[bodyHeader:end:end],
		settled: binary.LittleEndian.Uint32(mem[4:]) == ^check,
	}, true
}
