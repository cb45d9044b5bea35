package lean

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// header holds the fields of an answer's header that a connection needs. It accepts the same
// headers as net/http, with the same result.
type header struct {
	status       int
	major, minor int
	retryAfter   string // the first
	waits        int    // Retry-After fields
	date         []byte // the first Date; most answers do not need it as a string
	dates        int    // Date fields
	length       []byte // Content-Length, unparsed
	lengths      int    // Content-Length fields
	codings      int    // Transfer-Encoding fields
	chunked      bool
	body         int64 // size of the body, or inChunks or untilClose
	closes       bool  // no other answer follows on the connection
	keepAlive    bool
}

// Values of header.body that are not a size.
const (
	inChunks   = -1
	untilClose = -2
)

// read reads a status line and the header fields.
func (h *header) read(l *lines) error {
	*h = header{length: h.length[:0], date: h.date[:0]}
	line, err := l.next()
	if err != nil {
		return err
	}
	if !h.parseStatus(line) {
		return fmt.Errorf("malformed status line %.80q", line)
	}
	for {
		field, err := l.field()
		if err != nil {
			return err
		}
		if len(field) == 0 {
			return h.finish()
		}
		if err := h.add(field); err != nil {
			return err
		}
	}
}

// parseStatus parses a line such as "HTTP/1.1 202 Accepted". The reason is optional.
func (h *header) parseStatus(line []byte) bool {
	version, rest, _ := bytes.Cut(line, []byte(" "))
	if len(version) != len("HTTP/1.1") || string(version[:5]) != "HTTP/" || version[6] != '.' || !isDigit(version[5]) || !isDigit(version[7]) {
		return false
	}
	h.major, h.minor = int(version[5]-'0'), int(version[7]-'0')
	code, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	if len(code) != 3 {
		return false
	}
	status, err := strconv.Atoi(string(code))
	h.status = status
	return err == nil && status >= 0
}

// add parses a field that a connection needs.
func (h *header) add(field []byte) error {
	name, value, _ := bytes.Cut(field, []byte(":"))
	if !isName(name) || !isValue(value) {
		return errBadField
	}
	value = bytes.TrimLeft(value, " \t")
	switch {
	case isWord(name, "Content-Length"):
		return h.addLength(trim(value))
	case isWord(name, "Transfer-Encoding"):
		h.codings++
		h.chunked = isWord(value, "chunked")
	case isWord(name, "Connection"):
		h.closes = h.closes || hasWord(value, "close")
		h.keepAlive = h.keepAlive || hasWord(value, "keep-alive")
	case isWord(name, "Retry-After"):
		if h.waits++; h.waits == 1 {
			h.retryAfter = string(value)
		}
	case isWord(name, "Date"):
		if h.dates++; h.dates == 1 {
			h.date = append(h.date, value...)
		}
	}
	return nil
}

// addLength accepts a repeated length, but not a different one.
func (h *header) addLength(value []byte) error {
	if h.lengths++; h.lengths > 1 && !bytes.Equal(value, h.length) {
		return errors.New("the answer has two different Content-Lengths")
	}
	h.length = append(h.length[:0], value...)
	return nil
}

// finish determines how the body ends, and whether the connection ends with it.
func (h *header) finish() error {
	old := h.major < 1 || h.major == 1 && h.minor == 0
	var err error
	if h.body, err = h.framing(old); err != nil {
		return err
	}
	h.closes = h.closes || h.major < 1 || old && !h.keepAlive || h.status < 200 || h.body == untilClose
	return nil
}

// framing returns the size of the body.
func (h *header) framing(old bool) (int64, error) {
	size := int64(untilClose)
	if h.lengths > 0 {
		n, err := strconv.ParseUint(string(h.length), 10, 63)
		if err != nil {
			return 0, errors.New("the Content-Length of the answer is not a number")
		}
		size = int64(n)
	}
	if h.codings > 0 && !old { // HTTP/1.0 has no Transfer-Encoding
		if h.codings > 1 || !h.chunked {
			return 0, errors.New("the Transfer-Encoding of the answer is not chunked")
		}
		size = inChunks
	}
	if h.status < 200 && h.status >= 100 || h.status == 204 || h.status == 304 {
		size = 0
	}
	return size, nil
}

// isInterim reports whether another answer follows, as after every 1xx except 101.
func (h *header) isInterim() bool { return h.status >= 100 && h.status < 200 && h.status != 101 }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// isName reports whether b is a valid field name. As in net/http it may contain spaces.
func isName(b []byte) bool {
	for _, c := range b {
		if !isNameByte[c] {
			return false
		}
	}
	return len(b) > 0
}

var isNameByte = func() (table [256]bool) {
	for _, c := range []byte(" !#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		table[c] = true
	}
	return table
}()

// isValue reports whether b is a valid field value, without control characters.
func isValue(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// isWord compares without regard to case. Letters outside of ASCII that EqualFold treats as
// equal are longer.
func isWord(b []byte, word string) bool {
	return len(b) == len(word) && bytes.EqualFold(b, []byte(word))
}

// hasWord reports whether a comma-separated list contains the word.
func hasWord(list []byte, word string) bool {
	for more := true; more; {
		var item []byte
		item, list, more = bytes.Cut(list, []byte(","))
		if isWord(trim(item), word) {
			return true
		}
	}
	return false
}
