package pii

import (
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/internal/pattern"
)

// hasSecret reports whether a route has a wildcard whose name says that its values are secrets.
func hasSecret(route string) bool {
	if !strings.ContainsAny(route, "{:*") {
		return false
	}
	for name := range pattern.Wildcards(route) {
		if isSecretName(name) {
			return true
		}
	}
	return false
}

// isSecretName reports whether a wildcard's name says that its value is a secret.
func isSecretName(name string) bool {
	if !pattern.IsNamed(name) {
		return false
	}
	name = strings.ToLower(name)
	return slices.Contains(secretNames, name) || slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

var (
	secretNames = []string{"key", "otp", "jwt", "sig"}
	secretWords = []string{"token", "secret", "passw", "signature", "invit", "magic"}
)
