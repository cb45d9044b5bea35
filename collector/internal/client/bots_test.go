package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

func TestIsBot(t *testing.T) {
	t.Parallel()
	for ua, want := range map[string]bool{
		firefox: false,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1": false,
		"Mozilla/5.0 (Linux; Android 10; CUBOT X30) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":                 false,
		"Opera/9.80 (Android; Opera Mini/36.2/191.249; U; en) Presto/2.12.423 Version/12.16":                                                      false,
		"Mozilla/5.0 (Linux; Android 14; wv) AppleWebKit/537.36 Version/4.0 Chrome/140.0.0.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/500.0.0.0;]":  false,
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GoogleOther) Chrome/140.0.0.0 Safari/537.36; +https://a.example":          true,
		"facebookexternalhit/1.1":  true,
		"curl/8.14.1":              true,
		"python-requests/2.32.4":   true,
		"Mozilla/5.0 Scrapy-crawl": true,
		"":                         true,
	} {
		assert.Equal(t, want, IsBot(ua, false), ua)
	}
	headless := strings.Replace(firefox, "Firefox", "HeadlessChrome", 1)
	assert.True(t, IsBot(headless, false))
	assert.False(t, IsBot(headless, true))
}
