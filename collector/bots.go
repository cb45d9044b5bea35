package collector

import (
	"net/http"
	"strings"
)

// botWords are what user agents of programs say of themselves, in lower case. This list
// is for /e alone: to it every HTTP client of a backend would be a bot.
var botWords = []string{
	"bot", "crawl", "spider", "slurp", "scrape", "fetch", "monitor", "preview", "archive",
	"lighthouse", "pagespeed", "pingdom", "uptime", "validator", "checker", "externalhit",
	"phantomjs", "selenium", "puppeteer", "playwright", "cypress", "http://", "https://",
}

// botExceptions are devices whose names contain a word of the list.
var botExceptions = []string{"cubot"}

// isBot reports whether the user agent is that of a program that nobody looks through.
// Every browser claims to be Mozilla, old ones Opera; HTTP libraries do not.
func isBot(userAgent string, countHeadless bool) bool {
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

// isPrefetch reports whether the browser asks ahead of a visit that may never be.
func isPrefetch(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		if strings.HasPrefix(strings.ToLower(h.Get(name)), "prefetch") {
			return true
		}
	}
	return false
}
