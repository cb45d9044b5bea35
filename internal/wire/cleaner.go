package wire

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
)

// Cleaner adds the host to errors of the network and removes the API key.
type Cleaner struct {
	host string
	key  func() string // a function, so that printing the Cleaner does not print the key
}

// NewCleaner returns a Cleaner for a base URL that parses.
func NewCleaner(baseURL, key string) Cleaner {
	base, _ := url.Parse(baseURL) // checked by Config
	return Cleaner{base.Host, func() string { return key }}
}

// Clean wraps an error of the network, and says what to check if the error does not. The result never
// contains the key.
func (c Cleaner) Clean(err error) error {
	if wrapper, ok := errors.AsType[*url.Error](err); ok {
		err = wrapper.Err // without method and URL
	}
	text := err.Error()
	if clean := c.Scrub(text); clean != text {
		return errors.New("footfall: " + clean)
	}
	return fmt.Errorf("footfall: %s: %w%s", c.host, err, networkHint(err))
}

// networkHint says what to check after an error of the network, or "".
func networkHint(err error) string {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case noTLS, errors.Is(err, http.ErrSchemeMismatch):
		return "; the server does not speak TLS on this port: check scheme and port of BaseURL"
	case errors.Is(err, io.EOF):
		return "; the connection ended without an answer: if every one does, check scheme and port of BaseURL"
	}
	return ""
}

// Scrub replaces the key in text.
func (c Cleaner) Scrub(text string) string { return scrub(text, c.key()) }

// scrub replaces the key in text, in plain form and as JSON encoders write it.
func scrub(text, key string) string {
	if key == "" { // of a transport that stores events
		return text
	}
	quoted, _ := json.Marshal(key) // of a string, which cannot fail
	plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key)
	forms := []string{key, string(quoted[1 : len(quoted)-1]), plain}
	for _, form := range forms[:3] {
		forms = append(forms, strings.ReplaceAll(form, "/", `\/`))
	}
	slices.Sort(forms)
	for _, form := range slices.Compact(forms) { // each once: the mask contains the key "key"
		text = replaceKey(text, form)
	}
	return text
}

// wordKey is the length below which a key is replaced only where it is a whole word. A test
// server may have the key "e", and an error without that letter says nothing. A service whose
// keys are that short cannot keep them secret, but its errors must be readable. Config does not
// refuse such keys, because the contract does not fix the form of a key.
const wordKey = 8

// replaceKey replaces a form of the key in text.
func replaceKey(text, key string) string {
	const mask = "[key]"
	if len(key) >= wordKey {
		return strings.ReplaceAll(text, key, mask)
	}
	var out strings.Builder
	done := 0
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], key)
		if i < 0 {
			break
		}
		i += at
		end := i + len(key)
		at = i + 1
		if beginsWord(text[:i]) && endsWord(text[end:]) {
			out.WriteString(text[done:i] + mask)
			done, at = end, end
		}
	}
	return out.String() + text[done:]
}

// beginsWord reports whether a word begins after text. The last character of an escape, such as
// \n, \u0022 and %22, is not part of a word.
func beginsWord(text string) bool {
	n := len(text)
	return n == 0 || !chars.IsAlnum(text[n-1]) ||
		n >= 2 && text[n-2] == '\\' || n >= 6 && text[n-6:n-4] == `\u` || n >= 3 && text[n-3] == '%'
}

func endsWord(text string) bool { return text == "" || !chars.IsAlnum(text[0]) }

// bounded cuts s to at most n bytes, between two characters.
func bounded(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
