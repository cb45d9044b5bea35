package footfall

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestSanitizeReplacesInvalidText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", maxPathProp/2)
	for name, row := range map[string]struct{ raw, want string }{
		"plain":                {"drowsy-kettle", "drowsy-kettle"},
		"empty":                {"", ""},
		"letters":              {"größe", "größe"},
		"invalid UTF-8":        {"a\xff\xfeb", "a\ufffd\ufffdb"},
		"control characters":   {"a\x00b\nc\u0085", "a\ufffdb\ufffdc\ufffd"},
		"as long as it may be": {long, long},
		"too long":             {long + "x", long},
		"cut in a character":   {"x" + long, "x" + long[:maxPathProp-2]},
		"long and invalid":     {strings.Repeat("\xff", 2*maxPathProp), strings.Repeat("\ufffd", maxPathProp/3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, changed := sanitize(row.raw, maxPathProp)
			assert.Equal(t, row.want, text)
			assert.Equal(t, row.raw != row.want, changed)
		})
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("a\xffb")
	f.Add(strings.Repeat("\xf0\x9f", 600))
	f.Fuzz(func(t *testing.T, raw string) {
		text, changed := sanitize(raw, maxPathProp)
		if !utf8.ValidString(text) || len(text) > maxPathProp || changed != (text != raw) {
			t.Errorf("%q became %q", raw, text)
		}
		if again, changed := sanitize(text, maxPathProp); again != text || changed {
			t.Errorf("%q became %q", text, again)
		}
	})
}
