package chars

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestScanFindsCharactersThatJSONEscapes(t *testing.T) {
	t.Parallel()
	for b := range utf8.RuneSelf {
		s := string(rune(b))
		// RFC 8259, section 7: the quote, the backslash and the control characters.
		want := b < 0x20 || s == `"` || s == `\`
		assert.Equal(t, want, Scan(s)&Escape != 0, "%q", s)
		assert.Equal(t, !want, json.Valid([]byte(`"`+s+`"`)), "%q", s)
	}
}

func TestScanClassifiesEveryByte(t *testing.T) {
	t.Parallel()
	const alnum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	rows := map[string]struct {
		bit     Class
		allowed string // bytes that do not have it
	}{
		"URL text":    {NotURL, alnum + "-._~!$&'()*+,;=:@/%?"}, // RFC 3986: pchar, slash and question mark
		"host name":   {NotHost, alnum + "-._"},
		"IP address":  {NotAddress, "0123456789abcdefABCDEF.:[]"},
		"card number": {NotCard, "0123456789 -"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for b := range 256 {
				s := string([]byte{byte(b)})
				assert.Equal(t, strings.Contains(row.allowed, s), Scan(s)&row.bit == 0, "%q", s)
			}
		})
	}
}

func TestScanFindsAtSignsAndBytesThatAreNotASCII(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		s := string([]byte{'a', byte(b), 'a'})
		assert.Equal(t, b == '@', Scan(s)&At != 0, "%q", s)
		assert.Equal(t, b >= utf8.RuneSelf, Scan(s)&NonASCII != 0, "%q", s)
	}
	assert.Zero(t, Scan(""))
}

func TestKindsOfBytes(t *testing.T) {
	t.Parallel()
	const digits, lower, upper = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for name, row := range map[string]struct {
		is    func(byte) bool
		among string
	}{
		"digit":     {IsDigit, digits},
		"hex digit": {IsHex, digits + "abcdefABCDEF"},
		"alnum":     {IsAlnum, digits + lower + upper},
		"upper":     {IsUpper, upper},
		"lower":     {IsLower, lower},
	} {
		for b := range 256 {
			assert.Equal(t, strings.Contains(row.among, string([]byte{byte(b)})), row.is(byte(b)), "%s: %q", name, b)
		}
	}
}

func TestIsDigitsRequiresADigit(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"": false, "0": true, "0123456789": true, "-1": false, "1.0": false, "12a": false, "١": false} {
		assert.Equal(t, want, IsDigits(s), "%q", s)
	}
}

func TestIsToken(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"mF_9.B5f-4.1JqM": true, "a~+/=": true, "a b": false, "a\u00fc": false, "a:b": false, "a\n": false} {
		assert.Equal(t, want, IsToken(s), "%q", s)
	}
}
