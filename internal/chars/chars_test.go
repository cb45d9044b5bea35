package chars

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestScanFindsWhatJSONEscapes(t *testing.T) {
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
