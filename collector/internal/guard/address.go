package guard

import (
	"slices"
	"strings"
)

// hasAddress reports whether a segment contains an e-mail address. A version may follow the name of a
// package, and a scale the name of a picture: lodash@4.17.21, logo@2x.png.
func hasAddress(segment string) bool {
	for before, rest, more := strings.Cut(segment, "@"); more; before, rest, more = strings.Cut(rest, "@") {
		if before == "" || !isLocalPart(before[len(before)-1]) || !startsWithDomain(rest) {
			continue
		}
		domain, _, _ := strings.Cut(rest, "@")
		if domain = trimAssetTypes(domain); hasTopLevel(domain) || !isVersion(domain) && !isScale(domain) {
			return true
		}
	}
	return false
}

// hasEmail is hasAddress for values of a query, in which no version or scale is expected.
func hasEmail(s string) bool {
	for before, rest, more := strings.Cut(s, "@"); more; before, rest, more = strings.Cut(rest, "@") {
		if before != "" && isLocalPart(before[len(before)-1]) && startsWithDomain(rest) {
			return true
		}
	}
	return false
}

func isLocalPart(b byte) bool {
	return isAlnum(b) || b >= 0x80 || strings.IndexByte("!#$%&'*+-/=?^_`{|}~.\"", b) >= 0
}

// startsWithDomain reports whether s begins with two labels joined by a dot.
func startsWithDomain(s string) bool {
	label := 0
	for i := range len(s) {
		switch b := s[i]; {
		case isAlnum(b) || b >= 0x80 || b == '-':
			label++
		case b == '.' && label > 0:
			return i+1 < len(s) && (isAlnum(s[i+1]) || s[i+1] >= 0x80)
		default:
			return false
		}
	}
	return false
}

// assetTypes are file extensions of packages and pictures.
var assetTypes = []string{
	"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "webm", "mp4",
	"js", "css", "map", "woff", "woff2", "tgz", "tar", "gz", "zip",
}

func trimAssetTypes(name string) string {
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || !slices.Contains(assetTypes, strings.ToLower(name[dot+1:])) {
			return name
		}
		name = name[:dot]
	}
}

// hasTopLevel reports whether two letters follow a dot.
func hasTopLevel(domain string) bool {
	for i := 2; i < len(domain); i++ {
		if domain[i-2] == '.' && isLetter(domain[i-1]) && isLetter(domain[i]) {
			return true
		}
	}
	return false
}

// isVersion reports whether s begins with numbers and dots, such as 4.17.21, v2 and 1.0.0-rc.1.
func isVersion(s string) bool {
	s = strings.TrimPrefix(s, "v")
	n := 0
	for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
		n++
	}
	if n == 0 || !isDigit(s[0]) {
		return false
	}
	dots := strings.Count(s[:n], ".")
	switch rest := s[n:]; {
	case rest == "":
		return true
	case rest == "x":
		return s[n-1] == '.'
	default:
		return dots > 0 && isDigit(s[n-1]) && (rest[0] == '-' || rest[0] == '+')
	}
}

// isScale reports whether s begins with the scale of a picture, such as 2x and 1.5x.
func isScale(s string) bool {
	number, rest, found := strings.Cut(s, "x")
	return found && isVersion(number) && number[0] != 'v' && (rest == "" || !isLetter(rest[0]) && !isDigit(rest[0]))
}

// isLetter reports whether b is an ASCII letter or part of a character of another script.
func isLetter(b byte) bool { return isUpper(b) || isLower(b) || b >= 0x80 }
