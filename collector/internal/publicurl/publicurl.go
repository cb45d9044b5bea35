// Package publicurl checks the address at which browsers reach the collector.
package publicurl

import (
	"net/url"
	"strings"
)

// Trim removes the slashes at the end of a URL.
func Trim(text string) string { return strings.TrimRight(text, "/") }

// Valid reports whether text is an http or https URL of a host, without a path and a slash at the
// end.
func Valid(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && text == u.Scheme+"://"+u.Host
}
