package footfall

import (
	"math"

	"github.com/footfall-dev/footfall/internal/chars"
)

// Most props are plain: short ASCII, small integers, amounts of money. Those are found
// eight bytes at a time and written without asking for room again, which takes half the
// time of the general way. What is written is the same.

const (
	everyByte = 0x0101010101010101 // times a byte: that byte eight times
	highBits  = 0x8080808080808080
)

// isPlain reports whether s is ASCII without control characters, quotes, backslashes and
// at signs.
func isPlain(s string) bool {
	n := len(s)
	switch {
	case n >= 8:
		odd := oddBytes(eight(s[n-8:])) // may overlap the one before
		for ; len(s) > 8; s = s[8:] {
			odd |= oddBytes(eight(s))
		}
		return odd == 0
	case n >= 4:
		return oddBytes(four(s)|four(s[n-4:])<<32) == 0
	}
	for i := range n {
		if chars.Of(s[i])&(chars.Escape|chars.NonASCII|chars.At) != 0 {
			return false
		}
	}
	return true
}

// oddBytes is zero if all bytes of w are plain. A difference has the high bit of a byte
// that was less than what was taken from it, and one of them that of a byte above ASCII.
// The next byte may then have it wrongly, for it was borrowed from; but zero is zero.
func oddBytes(w uint64) uint64 {
	control := w - ' '*everyByte
	quote := (w ^ '"'*everyByte) - everyByte
	backslash := (w ^ '\\'*everyByte) - everyByte
	at := (w ^ '@'*everyByte) - everyByte
	return (control | quote | backslash | at) & highBits
}

// eight is the first eight bytes of s.
func eight(s string) uint64 { return four(s) | four(s[4:])<<32 }

// four is the first four.
func four(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// maxPlain bounds plain numbers, in units or hundredths: none may be a card number.
const maxPlain = 1e12

// plainNumber is how many bytes one takes at most, with all that JSON puts around it.
const plainNumber = 20

// appendPlainProp writes a prop and a comma, if the prop is plain and dst has room for it.
func (e *encoder) appendPlainProp(dst []byte, p *Prop) (out []byte, ok bool) {
	n, room := len(dst), min(cap(dst), e.maxBytes)
	if room-n < len(p.key)+len(p.str)+plainNumber || p.key == "" || !isPlain(p.key) {
		return dst, false
	}
	b := dst[:room]
	n += putQuoted(b[n:], p.key)
	b[n] = ':'
	n++
	switch f := math.Float64frombits(p.num); {
	case p.kind == kindString && isPlain(p.str) && !e.guard.suspects(p.str):
		n += putQuoted(b[n:], p.str)
	case (p.kind == kindInt || p.kind == kindUint) && p.num < maxPlain: // a negative one is not
		n += putUint(b[n:], p.num)
	case p.kind == kindFloat64 && isCents(f):
		n += putCents(b[n:], uint64(f*100))
	default:
		return dst, false
	}
	b[n] = ','
	return b[:n+1], true
}

// putQuoted, putUint and putCents write to the beginning of b and return how much.

func putQuoted(b []byte, s string) int {
	b[0] = '"'
	n := 1 + copy(b[1:], s)
	b[n] = '"'
	return n + 1
}

func putUint(b []byte, n uint64) int {
	digits := 1
	for limit := uint64(10); n >= limit; limit *= 10 {
		digits++
	}
	for i := digits - 1; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	return digits
}

// isCents reports whether f is a number of hundredths, as amounts of money are. Two
// decimals of up to 15 digits never read back as the same float64, so that they are the
// shortest decimal that does.
func isCents(f float64) bool {
	cents := f * 100
	return f >= 0 && cents < maxPlain && cents == math.Trunc(cents) && cents/100 == f && !math.Signbit(f)
}

// putCents writes a number of hundredths.
func putCents(b []byte, all uint64) int {
	n := putUint(b, all/100)
	if cents := byte(all % 100); cents > 0 {
		b[n], b[n+1] = '.', '0'+cents/10
		n += 2
		if cents%10 > 0 {
			b[n] = '0' + cents%10
			n++
		}
	}
	return n
}
