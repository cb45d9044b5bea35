package pii

import (
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/internal/pattern"
)

// Route is the route that a request matched.
type Route struct {
	Pattern string // as registered

	checked bool // secret is set
	secret  bool // a wildcard's name says that its values are secrets
}

// NewRoute returns a route for many requests, whose wildcards are checked once.
func NewRoute(pattern string) Route { return Route{pattern, true, hasSecret(pattern)} }

func (r *Route) hasSecret() bool {
	if r.checked {
		return r.secret
	}
	return hasSecret(r.Pattern)
}

// hasSecret reports whether a route has a wildcard whose name says that its values are secrets.
func hasSecret(route string) bool {
	for name := range pattern.Wildcards(route) {
		if isSecretName(name) {
			return true
		}
	}
	return false
}

// isSecretName reports whether a wildcard's name says that its value is a secret.
func isSecretName(name string) bool {
	if len(name) < shortestName {
		return false
	}
	name = strings.ToLower(name)
	return slices.Contains(secretNames, name) || len(name) >= shortestWord && containsSecretWord(name)
}

func containsSecretWord(name string) bool {
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

var (
	secretNames = []string{"key", "otp", "jwt", "sig"}
	secretWords = []string{"token", "secret", "passw", "signature", "invit", "magic"}
)

// The least lengths of secretNames and secretWords.
const (
	shortestName = len("key")
	shortestWord = len("token")
)
