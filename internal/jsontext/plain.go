package jsontext

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

// IsPlain reports whether s is ASCII without control characters, quotes, backslashes and
// at signs.
func IsPlain(s string) bool {
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

// MaxPlain bounds plain numbers, in units or hundredths: none may be a card number.
const MaxPlain = 1e12

// PutQuoted, PutUint and PutCents write to the beginning of b and return how much.

func PutQuoted(b []byte, s string) int {
	b[0] = '"'
	n := 1 + copy(b[1:], s)
	b[n] = '"'
	return n + 1
}

func PutUint(b []byte, n uint64) int {
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

// IsCents reports whether f is a number of hundredths, as amounts of money are. Two
// decimals of up to 15 digits never read back as the same float64, so that they are the
// shortest decimal that does.
func IsCents(f float64) bool {
	cents := f * 100
	return f >= 0 && cents < MaxPlain && cents == math.Trunc(cents) && cents/100 == f && !math.Signbit(f)
}

// PutCents writes a number of hundredths.
func PutCents(b []byte, all uint64) int {
	n := PutUint(b, all/100)
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
