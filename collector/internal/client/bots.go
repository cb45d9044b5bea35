package client

import (
	"net/http"
	"strings"
)

// botWords occur in the user agents of bots, in lower case. They apply to /e only: by these
// rules the HTTP client of a backend is a bot, too.
var botWords = []string{
	"bot", "crawl", "spider", "slurp", "scrape", "fetch", "monitor", "preview", "archive",
	"lighthouse", "pagespeed", "pingdom", "uptime", "validator", "checker", "externalhit",
	"phantomjs", "selenium", "puppeteer", "playwright", "cypress", "http://", "https://",
}

// botExceptions are devices whose names contain a word of the list.
var botExceptions = []string{"cubot"}

// IsBot reports whether the user agent is a bot or another program without a person. All
// browsers claim to be Mozilla, old ones Opera; HTTP libraries do not.
func IsBot(userAgent string, countHeadless bool) bool {
	ua := strings.ToLower(userAgent)
	for _, name := range botExceptions {
		ua = strings.ReplaceAll(ua, name, "")
	}
	if !strings.HasPrefix(ua, "mozilla/") && !strings.HasPrefix(ua, "opera/") || !countHeadless && strings.Contains(ua, "headless") {
		return true
	}
	for _, word := range botWords {
		if strings.Contains(ua, word) {
			return true
		}
	}
	return false
}

// IsPrefetch reports whether the browser loads a page ahead of a possible visit.
func IsPrefetch(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		if strings.HasPrefix(strings.ToLower(h.Get(name)), "prefetch") {
			return true
		}
	}
	return false
}
