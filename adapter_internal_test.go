package footfall

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestAssets(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status             int
		kind, contentRange string
		want               bool
	}{
		"a page":                     {200, "text/html; charset=utf-8", "", false},
		"JSON":                       {200, "application/json", "", false},
		"text":                       {200, "text/plain", "", false},
		"a document":                 {200, "application/pdf", "", false},
		"a download":                 {200, "application/octet-stream", "", false},
		"no type":                    {200, "", "", false},
		"a style sheet":              {200, "text/css; charset=utf-8", "", true},
		"a script":                   {200, "text/javascript; charset=utf-8", "", true},
		"a script, as it was":        {200, "application/javascript", "", true},
		"a picture":                  {200, "image/svg+xml", "", true},
		"capitals":                   {200, "IMAGE/PNG", "", true},
		"a font":                     {200, "font/woff2", "", true},
		"sound":                      {200, "audio/mpeg", "", true},
		"a film":                     {206, "video/mp4", "bytes 0-1023/4096", true},
		"WebAssembly":                {200, "application/wasm", "", true},
		"not modified":               {304, "text/html", "", true},
		"the beginning of a file":    {206, "application/pdf", "bytes 0-1023/4096", false},
		"the rest of a file":         {206, "application/pdf", "bytes 1024-4095/4096", true},
		"several parts of a file":    {206, "multipart/byteranges; boundary=x", "", true},
		"a range that is not served": {416, "application/pdf", "bytes */4096", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Observation{Status: row.status, Header: http.Header{"Content-Type": {row.kind}, "Content-Range": {row.contentRange}}}
			assert.Equal(t, row.want, o.isAsset())
		})
	}
	assert.False(t, (&Observation{Status: 200}).isAsset(), "of a framework that tells no header")
}

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
