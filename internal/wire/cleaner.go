package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
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

// Clean wraps an error of the network. The result never contains the key.
func (c Cleaner) Clean(err error) error {
	if wrapper, ok := errors.AsType[*url.Error](err); ok {
		err = wrapper.Err // without method and URL
	}
	if text := err.Error(); strings.Contains(text, c.key()) {
		return errors.New("footfall: " + c.Scrub(text))
	}
	return fmt.Errorf("footfall: %s: %w", c.host, err)
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
	for _, form := range []string{key, string(quoted[1 : len(quoted)-1]), plain} {
		text = strings.ReplaceAll(text, form, "[key]")
		text = strings.ReplaceAll(text, strings.ReplaceAll(form, "/", `\/`), "[key]")
	}
	return text
}

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
