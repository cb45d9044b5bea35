package footfallgqlgen_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
)

const persisted = "query Persisted {products}"

// apq returns a request with the hash of the persisted query, and with its text or "".
func apq(text string) string {
	return fmt.Sprintf(`{"query":%q,"extensions":{"persistedQuery":{"version":1,"sha256Hash":"%x"}}}`, text, sha256.Sum256([]byte(persisted)))
}

// serveWith starts an application whose tracker may be nil.
func serveWith(t *testing.T, tracker *footfall.Tracker, rules ...footfall.Rule) *host {
	t.Helper()
	h := &host{T: t}
	server := newServer(&h.running)
	handler := footfallgqlgen.Middleware(tracker, rules...)(server)
	server.Use(limit{})
	h.start(handler)
	return h
}
