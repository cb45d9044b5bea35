package guard

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A test of e2e compares more paths with the library.
func TestPathsOfBrowsersAreGuarded(t *testing.T) {
	t.Parallel()
	const hidden = "%5Bredacted%5D"
	for path, want := range map[string]string{
		"/u/jane@example.com/orders":                "/u/" + hidden + "/orders",
		"/u/jane%2540example.com":                   "/u/" + hidden,
		"/u/100%/jane%40example.com%":               "/u/100%/" + hidden, // percent signs that escape nothing
		"/u/%25252540":                              "/u/" + hidden,      // escaped too often to be read
		"/invite/V1StGXR8Z5jdHi6BmyT0":              "/invite/" + hidden,
		"/login/eyJhbGciOiJub25lIn0.eyJzdWIiOiIx.a": "/login/" + hidden,
		`\reset\jane@example.com`:                   hidden,
		"/sale/50%-off":                             "/sale/50%-off",
		"/npm/lodash@4.17.21.tgz":                   "/npm/lodash@4.17.21.tgz",
		"/blog/how-we-moved-a1b2c3d4":               "/blog/how-we-moved-a1b2c3d4",
		"":                                          "",
		"/a//b/":                                    "/a//b/",
	} {
		assert.Equal(t, want, Path(path), path)
	}
}

func TestQueriesOfBrowsersKeepTheSourceOnly(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"utm_source=mail&token=k3y&ref=news&utm_x=1&source=a": "utm_source=mail&ref=news&utm_x=1&source=a",
		"token=k3y":              "",
		"":                       "",
		"&&ref":                  "ref",
		"utm_source=50%+off":     "utm_source=50%+off",
		"ref=jane%40example.com": "",
		"ref=192.0.2.7&utm_medium=4111+1111+1111+1111&utm_campaign=Bearer+abc&source=eyJh.b.c": "",
		"ref=[2001:db8::1%25eth0]:443":            "",
		"ref=@handle&utm_campaign=1.2&source=a:b": "ref=@handle&utm_campaign=1.2&source=a:b",
	} {
		assert.Equal(t, want, Query(query), query)
	}
}
