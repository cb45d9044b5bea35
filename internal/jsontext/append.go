// Package jsontext writes JSON strings and numbers.
//
// The Append functions write any valid value after a byte slice, as encoding/json does,
// except that they do not escape HTML. The Put functions write plain values, which are
// short ASCII strings, small integers and amounts of money, into a slice that has room for
// them. That takes half the time, and most props of events are plain.
package jsontext

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/internal/chars"
)

// AppendString writes s as a JSON string after dst. It reports whether s is valid UTF-8;
// if not, it returns dst as it was.
func AppendString(dst []byte, s string) ([]byte, bool) {
	if IsPlain(s) {
		return append(append(append(dst, '"'), s...), '"'), true
	}
	return AppendQuoted(dst, s, chars.Scan(s))
}

// AppendQuoted is AppendString for a string whose classes are known: found is the result of
// [chars.Scan]. It escapes what RFC 8259, section 7, requires and nothing else.
func AppendQuoted(dst []byte, s string, found chars.Class) ([]byte, bool) {
	if found&(chars.NonASCII|chars.Escape) == 0 {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"'), true
	}
	if !utf8.ValidString(s) {
		return dst, false
	}
	return append(appendEscapes(append(dst, '"'), s), '"'), true
}

func appendEscapes(dst []byte, s string) []byte {
	start := 0
	for i := range len(s) {
		if chars.Of(s[i])&chars.Escape != 0 {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, s[i])
			start = i + 1
		}
	}
	return append(dst, s[start:]...)
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&0xf])
}

// AppendFloat writes the shortest decimal that reads back as the same float of 32 or 64
// bits, byte for byte as encoding/json writes it. It reports false for NaN and infinities,
// which JSON does not have.
func AppendFloat(dst []byte, f float64, bits int) ([]byte, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, false
	}
	if !needsExponent(math.Abs(f), bits) {
		return strconv.AppendFloat(dst, f, 'f', -1, bits), true
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if n := len(dst); string(dst[n-4:n-1]) == "e-0" { // strconv pads the exponent to two digits
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, true
}

// needsExponent reports whether encoding/json writes a number of this magnitude with an
// exponent. A float32 is compared as one: float32(1e-6) is less than the float64 1e-6.
func needsExponent(abs float64, bits int) bool {
	if bits == 32 {
		return abs != 0 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)
	}
	return abs != 0 && (abs < 1e-6 || abs >= 1e21)
}
