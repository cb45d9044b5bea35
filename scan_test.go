package footfall

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScanFindsWhatJSONEscapes(t *testing.T) {
	t.Parallel()
	for b := range utf8.RuneSelf {
		s := string(rune(b))
		// RFC 8259, section 7: the quote, the backslash and the control characters.
		want := b < 0x20 || s == `"` || s == `\`
		assert.Equal(t, want, scan(s)&hasEscape != 0, "%q", s)
		assert.Equal(t, !want, json.Valid([]byte(`"`+s+`"`)), "%q", s)
	}
}

func TestScanClassifiesEveryByte(t *testing.T) {
	t.Parallel()
	const alnum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	rows := map[string]struct {
		bit     class
		allowed string // bytes that do not have it
	}{
		"URL text":    {hasNoURL, alnum + "-._~!$&'()*+,;=:@/%?"}, // RFC 3986: pchar, slash and question mark
		"host name":   {hasNoName, alnum + "-._"},
		"IP address":  {hasNoAddress, "0123456789abcdefABCDEF.:[]"},
		"card number": {hasNoCard, "0123456789 -"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for b := range 256 {
				s := string([]byte{byte(b)})
				assert.Equal(t, strings.Contains(row.allowed, s), scan(s)&row.bit == 0, "%q", s)
			}
		})
	}
}

func TestScanFindsAtSignsAndBytesThatAreNotASCII(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		s := string([]byte{'a', byte(b), 'a'})
		assert.Equal(t, b == '@', scan(s)&hasAt != 0, "%q", s)
		assert.Equal(t, b >= utf8.RuneSelf, scan(s)&hasNonASCII != 0, "%q", s)
	}
	assert.Zero(t, scan(""))
}

// The short cut for plain URLs must not accept what net/url refuses.
func TestPlainURLsAreURLsForNetURLToo(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		for _, form := range []string{"https://example.com/a?", "https://example.com", "https://", "https://a"} {
			raw := form + string([]byte{byte(b)}) + "x"
			if !isPlainURL(raw) {
				continue
			}
			u, err := url.Parse(raw)
			require.NoError(t, err, "%q", raw)
			assert.Empty(t, checkUnusualURL(raw), "%q", raw)
			assert.NotEmpty(t, u.Hostname(), "%q", raw)
		}
	}
}
