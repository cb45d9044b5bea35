package sqlite

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAURLIsPutTogetherFromItsParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, url, path, origin, rest string }{
		{"with a query", "https://s.example/a?b=/a", "/a", "https://s.example", "?b=/a"},
		{"with nothing after the path", "http://s:80/a/b", "/a/b", "http://s:80", ""},
		{"with a slash more than the path", "https://s.example/a/", "/a", "https://s.example", "/"},
		{"with a path that is escaped", "https://s.example/a%20b", "/a b", "", "https://s.example/a%20b"},
		{"without a path", "https://s.example", "/", "", "https://s.example"},
		{"with a path in its query only", "https://s.example?/a", "/a", "https://s.example?", ""},
		{"that is none", "mailto:x", "/", "", "mailto:x"},
		{"that is empty", "", "/", "", ""},
		{"of an event without a path", "https://s.example/", "", "", "https://s.example/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			origin, rest := splitURL(c.url, c.path)
			assert.Equal(t, c.origin, origin)
			assert.Equal(t, c.rest, rest)
			if origin != "" {
				assert.Equal(t, c.url, origin+c.path+rest)
			}
		})
	}
}
