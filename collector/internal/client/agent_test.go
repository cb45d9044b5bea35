package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAgentNamesBrowserAndDevice(t *testing.T) {
	t.Parallel()
	const (
		webKit = " AppleWebKit/537.36 (KHTML, like Gecko) "
		iOS    = "(iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	)
	for ua, want := range map[string]string{
		firefox: "Firefox on Desktop",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + webKit + "Chrome/142.0.0.0 Safari/537.36":                                          "Chrome on Desktop",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + webKit + "Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0":                            "Edge on Desktop",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + webKit + "Chrome/142.0.0.0 Safari/537.36 OPR/124.0.0.0":                            "Opera on Desktop",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15":          "Safari on Desktop",
		"Mozilla/5.0 " + iOS + "Version/26.0 Mobile/15E148 Safari/604.1":                                                                 "Safari on Mobile",
		"Mozilla/5.0 " + iOS + "CriOS/142.0 Mobile/15E148 Safari/604.1":                                                                  "Chrome on Mobile",
		"Mozilla/5.0 " + iOS + "FxiOS/145.0 Mobile/15E148 Safari/605.1.15":                                                               "Firefox on Mobile",
		"Mozilla/5.0 (iPad; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1": "Safari on Tablet",
		"Mozilla/5.0 (Linux; Android 10; K)" + webKit + "Chrome/142.0.0.0 Mobile Safari/537.36":                                          "Chrome on Mobile",
		"Mozilla/5.0 (Linux; Android 10; K)" + webKit + "Chrome/142.0.0.0 Safari/537.36":                                                 "Chrome on Tablet",
		"Mozilla/5.0 (Linux; Android 16; SM-S921B)" + webKit + "SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36":               "Samsung Internet on Mobile",
		"Mozilla/5.0 (Android 16; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0":                                                           "Firefox on Mobile",
		"Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko":                                                          "Internet Explorer on Desktop",
		"":                            "Other on Desktop",
		"<script>alert(1)</script>/1": "Other on Desktop",
		"Mozilla/5.0":                 "Other on Desktop",
		"Mozilla/5.0 (((((":           "Other on Desktop",
		"Mozilla/5.0 (" + "x; " + "\xff\x00" + ")": "Other on Desktop",
		strings.Repeat("(Firefox/1 ", 100_000):     "Firefox on Desktop",
	} {
		browser, device := Agent(ua)
		assert.Equal(t, want, browser+" on "+device, "%.100s", ua)
	}
}

func BenchmarkAgent(b *testing.B) {
	for b.Loop() {
		Agent(firefox)
	}
}
