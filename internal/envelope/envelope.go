// Package envelope puts the caller's id of an event before its JSON, so that queues, files and records that keep
// the bytes of an event keep the id, too. An event without such an id is its JSON alone.
//
//	mark   1 byte, 1; JSON begins with "{"
//	length 1 byte, of the id
//	id     1 to 255 bytes, printable ASCII
//	body   the rest, JSON
package envelope

import "bytes"

const (
	mark   = 1
	header = 2
	maxID  = 255 // bytes; the limit of the collector
)

// Check returns what is wrong with an id, or "". The collector has the same bounds. Spaces at either end would be
// lost, because they are not part of the value of a header (RFC 9110, Section 5.5).
func Check(id string) (reason string) {
	if len(id) > maxID {
		return "longer than 255 bytes"
	}
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return "a character that is not printable ASCII"
		}
	}
	if id != "" && (id[0] == ' ' || id[len(id)-1] == ' ') {
		return "a space at the beginning or the end"
	}
	return ""
}

// Append appends what comes before the body of an event whose id Check has accepted.
func Append[T string | []byte](dst []byte, id T) []byte {
	if len(id) == 0 {
		return dst
	}
	return append(append(dst, mark, byte(len(id))), id...)
}

// Size returns how many bytes Append appends.
func Size(id []byte) int {
	if len(id) == 0 {
		return 0
	}
	return header + len(id)
}

// Split returns the id, or nil, and the body. Both are parts of b, which may be damaged.
func Split(b []byte) (id, body []byte) {
	if len(b) < header || b[0] != mark || len(b) < header+int(b[1]) {
		return nil, b
	}
	end := header + int(b[1])
	return b[header:end:end], b[end:]
}

// Clone returns a copy of both in one piece of memory.
func Clone(id, body []byte) (newID, newBody []byte) {
	if len(id) == 0 {
		return nil, bytes.Clone(body)
	}
	all := append(bytes.Clone(id), body...)
	return all[:len(id):len(id)], all[len(id):]
}
