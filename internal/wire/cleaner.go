package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Cleaner makes errors of the network fit to be read: they name the host and never hold
// the API key.
type Cleaner struct {
	host string
	key  func() string // a function, because fmt prints no result of one
}

// NewCleaner returns a Cleaner for a base URL that parses.
func NewCleaner(baseURL, key string) Cleaner {
	base, _ := url.Parse(baseURL) // checked by Config
	return Cleaner{base.Host, func() string { return key }}
}

// Clean wraps an error of the network so that it cannot hold the key.
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
