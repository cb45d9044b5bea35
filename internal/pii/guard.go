// Package pii finds personal data in values of props and in URLs of pages: "personally
// identifiable information should not be included" (contract, section Event).
//
// In a value, it finds an e-mail address anywhere, and a value that is as a whole an IP
// address (also with a port, brackets or a zone), a payment card number or a bearer token.
// A version such as "1.2.3.4" therefore counts as personal; keys can be exempt. In a path, it
// finds segments with an e-mail address or a token of random letters and digits, and segments
// that match a wildcard whose name says that its values are secrets.
package pii

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
)

// Guard decides which values are redacted. It is immutable. The zero Guard is on and has no
// exempt keys.
type Guard struct {
	off    bool
	exempt []string // keys of props and names of wildcards
}

// New returns a guard that leaves exempt keys of props and names of wildcards alone, or one
// that redacts nothing if off is true.
func New(off bool, exempt []string) *Guard {
	return &Guard{off: off, exempt: slices.Clone(exempt)}
}

// RedactsText reports whether the guard redacts the string s of a prop. found is the result of
// [chars.Scan].
func (g *Guard) RedactsText(key, s string, found chars.Class) bool {
	return !g.off && personalText(s, found) && !slices.Contains(g.exempt, key)
}

// Suspects reports whether s, which is plain (see jsontext.IsPlain), may be personal data. It
// is a quick check that looks at the ends of s. Without an at sign, personal data begins with
// a hexadecimal digit, a colon or a bracket. Addresses and card numbers end with one of these
// or with a separator of a card number; the zone of an address, after a percent sign, may end
// with any character.
func (g *Guard) Suspects(s string) bool {
	if g.off || s == "" || chars.Of(s[0])&chars.NotAddress != 0 {
		return false
	}
	switch last := s[len(s)-1]; {
	case chars.Of(last)&chars.NotAddress == 0, last == ' ', last == '-', s[0]|0x20 == 'b', s[0] == 'e', hasZone(s):
		return personalText(s, chars.Scan(s))
	}
	return false
}

// RedactsNumber reports whether the guard redacts the integer n of a prop as a card number.
func (g *Guard) RedactsNumber(key string, n uint64) bool {
	return !g.off && n >= leastCard &&
		isCardNumber(strconv.AppendUint(make([]byte, 0, 20), n, 10)) && !slices.Contains(g.exempt, key)
}

// Card numbers have 13 to 19 digits.
const (
	leastCard = 1e12
	aboveCard = 1e19
)

// RedactsFloat reports whether the guard redacts the float f of a prop as a card number.
func (g *Guard) RedactsFloat(key string, f float64) bool {
	return f >= leastCard && f < aboveCard && f == math.Trunc(f) && g.RedactsNumber(key, uint64(f))
}

func personalText(s string, found chars.Class) bool {
	return found&chars.At != 0 && hasEmail(s) ||
		(found&chars.NotAddress == 0 || hasZone(s)) && isIP(s) ||
		found&chars.NotCard == 0 && isCardNumber(s) ||
		isBearerToken(s)
}

// hasEmail reports whether s contains a local part, an at sign and a domain with a dot. It is
// wider than RFC 5321 on purpose.
func hasEmail(s string) bool {
	for rest := s; ; {
		at := strings.IndexByte(rest, '@')
		if at < 0 {
			return false
		}
		if at > 0 && isLocalPart(rest[at-1]) && startsWithDomain(rest[at+1:]) {
			return true
		}
		rest = rest[at+1:]
	}
}

func isLocalPart(b byte) bool {
	return chars.IsAlnum(b) || b >= 0x80 || strings.IndexByte("!#$%&'*+-/=?^_`{|}~.\"", b) >= 0
}

// startsWithDomain reports whether s begins with two labels joined by a dot.
func startsWithDomain(s string) bool {
	label := 0
	for i := range len(s) {
		switch b := s[i]; {
		case chars.IsAlnum(b) || b >= 0x80 || b == '-':
			label++
		case b == '.' && label > 0:
			return i+1 < len(s) && (chars.IsAlnum(s[i+1]) || s[i+1] >= 0x80)
		default:
			return false
		}
	}
	return false
}

// hasZone reports whether s may be an IPv6 address with a zone, such as fe80::1%eth0.
func hasZone(s string) bool { return strings.IndexByte(s, '%') > 0 }

// isIP reports whether s is an IPv4 or IPv6 address, perhaps with brackets, port and zone.
func isIP(s string) bool {
	const maxZone = 64 // the name of a network interface, which has several words on Windows
	const maxAddress = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%]:65535") + maxZone
	if len(s) > maxAddress || strings.Count(s, ".")+strings.Count(s, ":") < 2 {
		return false
	}
	copied := strings.Clone(s) // a parse error would keep s, and the props beside it, alive
	host := copied
	if name, port, found := cutLast(copied, ":"); found && (port == "" || chars.IsDigits(port)) {
		host = name
	}
	return isAddr(copied) || isAddr(host)
}

// isAddr reports whether s is an address, perhaps with brackets and a zone.
func isAddr(s string) bool {
	s, _, _ = strings.Cut(strings.Trim(s, "[]"), "%")
	_, err := netip.ParseAddr(s)
	return err == nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// isCardNumber reports whether s is 13 to 19 digits, perhaps grouped by blanks or
// dashes, that pass the Luhn check (ISO/IEC 7812-1) and start with a digit that
// payment networks use (2 to 6): time stamps in milliseconds start with 1.
func isCardNumber[S string | []byte](s S) bool {
	if len(s) < 13 || len(s) > 25 || s[0] < '2' || s[0] > '6' {
		return false
	}
	digits, sum := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		b := s[i]
		if b == ' ' || b == '-' {
			continue
		}
		if b < '0' || b > '9' {
			return false
		}
		d := int(b - '0')
		if digits%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		digits++
	}
	return digits >= 13 && digits <= 19 && sum%10 == 0
}

// isBearerToken reports whether s is an Authorization value (RFC 6750, section 2.1) or a bare
// JSON Web Token (RFC 7519), whose header always begins with `{"`.
func isBearerToken(s string) bool {
	const scheme = "bearer "
	if len(s) < 4 || s[0]|0x20 != 'b' && s[0] != 'e' {
		return false
	}
	if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
		return chars.IsToken(s[len(scheme):])
	}
	return s[:3] == "eyJ" && strings.Count(s, ".") == 2 && !strings.ContainsAny(s, " \t\n")
}
