package publicurl

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPublicURLIsSchemeAndHost(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		"https://stats.example.com":      true,
		"http://127.0.0.1:8090":          true,
		"http://[::1]:8090":              true,
		"":                               false,
		"stats.example.com":              false,
		"ftp://stats.example.com":        false,
		"https://":                       false,
		"https://:8090":                  false,
		"https://stats.example.com/":     false,
		"https://stats.example.com/x":    false,
		"https://stats.example.com?x":    false,
		"https://stats.example.com#":     false,
		"https://u@stats.example.com":    false,
		"https://stats.example.com:port": false,
	} {
		assert.Equal(t, valid, Valid(text), text)
	}
	assert.Equal(t, "https://stats.example.com", Trim("https://stats.example.com//"))
}
