package collector

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"strconv"
)

// script is assets/t.src.js, minified. A test keeps the two in step.
//
//go:embed assets/t.js
var script []byte

var scriptTag = func() string {
	sum := sha256.Sum256(script)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}()

// serveScript serves /t.js. Browsers may use a cached copy for an hour.
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
	_, _ = w.Write(script) // fails if the client is gone
	return nil
}
