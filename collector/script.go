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

// description is the API for programs and people, in OpenAPI 3.1.
//
//go:embed api/openapi.yaml
var description []byte

// serveScript serves /t.js, and serveDescription /openapi.yaml.
var (
	serveScript      = serveFile(script, "text/javascript; charset=utf-8")
	serveDescription = serveFile(description, "application/yaml") // RFC 9512
)

// serveFile serves a public file. Clients may use a cached copy for an hour.
func serveFile(content []byte, mediaType string) func(http.ResponseWriter, *http.Request) *failure {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) *failure {
		if !allows(http.MethodGet, r.Method) {
			return wrongMethod(http.MethodGet)
		}
		h := w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("Etag", tag)
		h["X-Content-Type-Options"] = noSniff
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		h.Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content) // fails if the client is gone
		return nil
	}
}
