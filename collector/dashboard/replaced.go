package dashboard

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// placeholder matches a text that replaces a segment of a path: [redacted], or the name of a wildcard in
// braces. Paths are stored unescaped, unless that is not text.
var placeholder = regexp.MustCompile(`(?i)(%5Bredacted%5D|\[redacted\])|(?:%7B|\{)([^/{}]+?)(?:%7D|\})`)

// wildcardName matches the names that the note shows. A client can send any text in braces.
var wildcardName = regexp.MustCompile(`^[\pL\pN_.-]{1,40}$`)

// maxPlaceholders is how many names of wildcards are shown, because a client can send any number.
const maxPlaceholders = 5

// replaced is what stands for other texts in pages of an event.
type replaced struct {
	Segments bool     // [redacted]
	Names    []string // of wildcards, sorted
}

// replacedIn returns what was replaced in pages, or nil for nothing.
func replacedIn(pages []store.Row) *replaced {
	var r replaced
	for _, page := range pages {
		for _, match := range placeholder.FindAllStringSubmatch(page.Value, -1) {
			if match[1] != "" {
				r.Segments = true
				continue
			}
			name, err := url.PathUnescape(match[2])
			if err == nil && wildcardName.MatchString(name) && !slices.Contains(r.Names, name) && len(r.Names) < maxPlaceholders {
				r.Names = append(r.Names, name)
			}
		}
	}
	if !r.Segments && len(r.Names) == 0 {
		return nil
	}
	slices.Sort(r.Names)
	return &r
}

// Wildcards lists the wildcards, such as {id} and {slug}.
func (r *replaced) Wildcards() string { return "{" + strings.Join(r.Names, "}, {") + "}" }

// Exemption is the setting that keeps the values of the wildcards.
func (r *replaced) Exemption() string {
	return `Config.AllowPIIKeys = []string{"` + strings.Join(r.Names, `", "`) + `"}`
}
