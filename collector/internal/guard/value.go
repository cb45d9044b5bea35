package guard

import (
	"net/netip"
	"strings"
)

// isPersonal reports whether a value of a query contains an e-mail address, or is an IP address, a number
// of a payment card or a bearer token.
func isPersonal(value string) bool {
	return hasEmail(value) || isIP(value) || isCardNumber(value) || isBearerToken(value)
}

// isIP reports whether s is an IP address, perhaps with brackets, port and zone.
func isIP(s string) bool {
	if strings.Count(s, ".")+strings.Count(s, ":") < 2 {
		return false
	}
	host := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.Trim(s[i+1:], "0123456789") == "" {
		host = s[:i]
	}
	return isAddr(s) || isAddr(host)
}

func isAddr(s string) bool {
	s, _, _ = strings.Cut(strings.Trim(s, "[]"), "%")
	_, err := netip.ParseAddr(s)
	return err == nil
}

// isCardNumber reports whether s is 13 to 19 digits, perhaps grouped by blanks or dashes, that begin as
// numbers of cards do and pass the Luhn check (ISO/IEC 7812-1).
func isCardNumber(s string) bool {
	if len(s) < 13 || len(s) > 25 || s[0] < '2' || s[0] > '6' {
		return false
	}
	digits, sum := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		b := s[i]
		if b == ' ' || b == '-' {
			continue
		}
		if !isDigit(b) {
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

// isBearerToken reports whether s is an Authorization value (RFC 6750, section 2.1) or a bare JSON Web
// Token (RFC 7519), whose header always begins with `{"`.
func isBearerToken(s string) bool {
	const scheme = "bearer "
	if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
		return !strings.ContainsFunc(s[len(scheme):], isNoToken)
	}
	return strings.HasPrefix(s, "eyJ") && strings.Count(s, ".") == 2 && !strings.ContainsAny(s, " \t\n")
}

// isNoToken reports whether r is not part of a b64token (RFC 6750, section 2.1).
func isNoToken(r rune) bool { return isNoAlnum(r) && !strings.ContainsRune("-._~+/=", r) }
