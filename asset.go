package footfall

import (
	"net/http"
	"strings"
)

// isAsset reports whether nobody asked for the answer as such: a part of a page, a copy
// that the client has already, or the rest of a file.
func (o *Observation) isAsset() bool {
	if o.Status == http.StatusNotModified {
		return true
	}
	if o.Header == nil {
		return false
	}
	if o.Status == http.StatusPartialContent && !isFirstRange(o.Header.Get("Content-Range")) {
		return true
	}
	return isAssetType(o.Header.Get("Content-Type"))
}

// isFirstRange reports whether a Content-Range (RFC 9110, section 14.4) begins with the first
// byte. Several ranges in one answer have a field in each part.
func isFirstRange(field string) bool {
	return field == "" || strings.HasPrefix(field, "bytes 0-")
}

// isAssetType reports whether a Content-Type is one of files that pages are made of.
func isAssetType(field string) bool {
	kind, subtype, _ := strings.Cut(strings.ToLower(field), "/")
	subtype, _, _ = strings.Cut(subtype, ";")
	switch kind {
	case "image", "font", "audio", "video":
		return true
	case "text":
		return subtype == "css" || subtype == "javascript"
	case "application":
		switch strings.TrimSpace(subtype) {
		case "javascript", "x-javascript", "wasm", "manifest+json", "font-woff", "font-woff2", "vnd.ms-fontobject":
			return true
		}
	}
	return false
}
