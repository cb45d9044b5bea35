package collector

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"strconv"
)

// script is assets/t.src.js without what only people need; a test holds them together.
//
//go:embed assets/t.js
var script []byte

var scriptTag = func() string {
	sum := sha256.Sum256(script)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}()

// serveScript answers /t.js. An hour is how long pages may go on with an old one.
func serveScript(w http.ResponseWriter, r *http.Request) *failure {
	if !allows(http.MethodGet, r.Method) {
		return wrongMethod(http.MethodGet)
	}
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Etag", scriptTag)
	h["X-Content-Type-Options"] = noSniff
	if r.Header.Get("If-None-Match") == scriptTag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(script)))
	_, _ = w.Write(script) // the client may be gone
	return nil
}
