package pattern

import (
	"net/url"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
)

// AppendPath writes the path of a route, with the names of its wildcards in braces,
// percent-encoded (RFC 3986, section 2.1): /user/reset/%7Bkey%7D.
func AppendPath(dst []byte, route string) []byte {
	path := Parse(route).Path
	if !strings.HasPrefix(path, "/") {
		dst = append(dst, '/')
	}
	for path != "" {
		if b := path[0]; b == '{' || b == ':' || b == '*' {
			n := max(wildcardLen(path), 1)
			dst = appendWildcard(dst, path[:n])
			path = path[n:]
			continue
		}
		n := strings.IndexAny(path, "{:*")
		if n < 0 {
			n = len(path)
		}
		dst = appendURLText(dst, path[:n])
		path = path[n:]
	}
	return dst
}

func appendWildcard(dst []byte, w string) []byte {
	switch {
	case w == "{$}":
		return dst
	case w == "*" || w == ":":
		return append(dst, w...)
	case w == "{+...}":
		return append(dst, '+')
	}
	return AppendBraces(dst, wildcardName(w))
}

// AppendBraces writes the name of a wildcard in braces, percent-encoded.
func AppendBraces(dst []byte, name string) []byte {
	dst = append(dst, "%7B"...)
	dst = append(dst, url.PathEscape(name)...)
	return append(dst, "%7D"...)
}

// appendURLText writes a part of a pattern, percent-encoded unless it is already.
func appendURLText(dst []byte, path string) []byte {
	if _, err := url.PathUnescape(path); err == nil && chars.IsURL(path) {
		return append(dst, path...)
	}
	return append(dst, (&url.URL{Path: path}).EscapedPath()...)
}
