package jsontext

import (
	"math"

	"github.com/footfall-dev/footfall/internal/chars"
)

const (
	everyByte = 0x0101010101010101 // multiplied by a byte, repeats the byte eight times
	highBits  = 0x8080808080808080
)

// IsPlain reports whether s is ASCII without control characters, quotes, backslashes and
// at signs. Such a string needs no escapes and contains no e-mail address. IsPlain takes
// eight bytes at a time.
func IsPlain(s string) bool {
	n := len(s)
	switch {
	case n >= 8:
		odd := oddBytes(eight(s[n-8:])) // the last eight bytes may overlap the others
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

// oddBytes returns zero if all bytes of w are plain. A subtraction sets the high bit of each
// byte that is less than the byte subtracted from it, and the high bit of a byte above ASCII
// stays set in one of the differences. A borrow may set the high bit of the next byte too,
// but there is no borrow without an odd byte.
func oddBytes(w uint64) uint64 {
	control := w - ' '*everyByte
	quote := (w ^ '"'*everyByte) - everyByte
	backslash := (w ^ '\\'*everyByte) - everyByte
	at := (w ^ '@'*everyByte) - everyByte
	return (control | quote | backslash | at) & highBits
}

// eight returns the first eight bytes of s as an integer.
func eight(s string) uint64 { return four(s) | four(s[4:])<<32 }

// four returns the first four bytes of s as an integer.
func four(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// MaxPlain is the limit of plain integers, and of plain amounts in hundredths. A number below
// it has fewer digits than a payment card.
const MaxPlain = 1e12

// PutQuoted writes s, which is plain, in quotes to the beginning of b and returns the number
// of bytes.
func PutQuoted(b []byte, s string) int {
	b[0] = '"'
	n := 1 + copy(b[1:], s)
	b[n] = '"'
	return n + 1
}

// PutUint writes n, which is below MaxPlain, to the beginning of b and returns the number of
// bytes.
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

// IsCents reports whether f is a number of hundredths below MaxPlain, as amounts of money
// are. Two decimals of up to 15 digits never read back as the same float64, so the decimal
// with two places is the shortest one that reads back as f.
func IsCents(f float64) bool {
	cents := f * 100
	return f >= 0 && cents < MaxPlain && cents == math.Trunc(cents) && cents/100 == f && !math.Signbit(f)
}

// PutCents writes a number of hundredths, which is below MaxPlain, as a decimal to the
// beginning of b and returns the number of bytes.
func PutCents(b []byte, hundredths uint64) int {
	n := PutUint(b, hundredths/100)
	if cents := byte(hundredths % 100); cents > 0 {
		b[n], b[n+1] = '.', '0'+cents/10
		n += 2
		if cents%10 > 0 {
			b[n] = '0' + cents%10
			n++
		}
	}
	return n
}
