package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/footfalltest"
)

// The collector guards the URLs of browsers' pages with its own code. It must decide as the middleware
// of the library does.
func TestTheCollectorGuardsPagesOfBrowsersAsTheMiddlewareDoes(t *testing.T) {
	t.Parallel()
	pages := guardedPages(t)
	want := pagesOfTheMiddleware(t, pages)
	got := pagesOfTheCollector(t, pages)
	replaced := 0
	for i, page := range pages {
		assert.Equal(t, want[i], got[i], page)
		if page != got[i] {
			replaced++
		}
	}
	assert.Greater(t, replaced, 500)
	assert.Greater(t, len(pages)-replaced, 700)
}

// guardedPages returns pages of public sites, pages with identifiers, and pages with random tokens.
func guardedPages(t *testing.T) (pages []string) {
	t.Helper()
	for _, file := range []string{"paths.txt", "ids.txt"} {
		text, err := os.ReadFile("../internal/pii/testdata/" + file)
		require.NoError(t, err)
		for path := range strings.Lines(string(text)) {
			pages = append(pages, "https://shop.example.com"+strings.TrimSpace(path))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	const digits, small = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	alphabets := []string{digits, "abcdef" + digits, small + digits, digits + strings.ToUpper(small) + small, small + "@.-2v", "-._" + digits + "abcdefX"}
	for i := range 2000 {
		token, alphabet := make([]byte, 8+r.IntN(30)), alphabets[i%len(alphabets)]
		for j := range token {
			token[j] = alphabet[r.IntN(len(alphabet))]
		}
		pages = append(pages, fmt.Sprintf("https://shop.example.com/p%d/%s?utm_source=%s&token=x&ref=a%%40b.%d", i, token, token, i%3))
	}
	for _, end := range []string{
		"u/jane@example.com", "u/jane%2540example.com", "u/%25252525", "sale/100%25", "u/joe@4.17.21-a.de", "u/j%C3%BCrgen@ex%C3%A4mple.de",
		"npm/lodash@4.17.21", "npm/lodash@4.17.21.tgz", "npm/vue@3-1", "npm/react@19.0-rc", "npm/lodash@4.x", "img/logo@2x.png", "img/a@v2x.webp",
		"v/11111111-2222-3333-4444-555555555555", "a;jsessionid=4D7A1F0B2C9E8D6F3A5B4C7E", "t/eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", "", "a//b/",
		"a?ref=jane%40example.com&utm_source=mail", "a?source=192.0.2.7&utm_id=4222222222222&utm_term=Bearer+abc", "a?q=1&utm_=&ref",
		"a?ref=fe80::1%25eth0&source=[::1]:80&utm_x=4111-1111+1111-1111&utm_y=1.2.3", "a?ref=bearer+a,b&source=eyJh.b.c&utm_x=eyJh.b",
	} {
		pages = append(pages, "https://shop.example.com/"+end)
	}
	return pages
}

// pagesOfTheMiddleware returns the URLs of the events of requests for pages, of which no route is known.
func pagesOfTheMiddleware(t *testing.T, pages []string) (urls []string) {
	t.Helper()
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.PublicURL = "https://shop.example.com" })
	handler := tracker.Middleware(footfall.Rule{Route: footfall.NoRoute, Event: "seen"})(http.NotFoundHandler())
	for _, page := range pages {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", page, nil))
	}
	events := tracker.Events()
	require.Len(t, events, len(pages))
	for _, e := range events {
		urls = append(urls, e.URL)
	}
	return urls
}

// sendPageview sends a pageview as t.js does.
func sendPageview(t *testing.T, url, page string, i int) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"s": "shop.example.com", "u": page, "p": map[string]int{"i": i}})
	assert.NoError(t, err)
	request := httptest.NewRequest("POST", url+"/e", bytes.NewReader(body))
	request.RequestURI = "" // the request of a client has none
	request.Header.Set("Content-Type", "text/plain")
	request.Header.Set("User-Agent", userAgent)
	answer, err := http.DefaultClient.Do(request)
	if assert.NoError(t, err) {
		assert.Equal(t, http.StatusAccepted, answer.StatusCode, page)
		assert.NoError(t, answer.Body.Close())
	}
}

// pagesOfTheCollector returns the URLs that the collector stores of pageviews.
func pagesOfTheCollector(t *testing.T, pages []string) []string {
	t.Helper()
	s := startServiceWith(t, nil, func(c *collector.Config) { c.BrowserBurst = 2 * len(pages) })
	site := addSite(t, s.account, "", "shop.example.com")
	const senders = 32
	var sending sync.WaitGroup
	for first := range senders {
		sending.Go(func() {
			for i := first; i < len(pages); i += senders {
				sendPageview(t, s.url, pages[i], i)
			}
		})
	}
	sending.Wait()
	now := time.Now().UTC().Truncate(24 * time.Hour)
	events, err := s.store.Recent(t.Context(), store.Query{Site: site.ID, From: now.AddDate(0, 0, -1), To: now.AddDate(0, 0, 2)}, 2*len(pages))
	require.NoError(t, err)
	require.Len(t, events, len(pages))
	urls := make([]string, len(pages))
	for _, e := range events {
		var i int
		_, err := fmt.Sscan(e.Props[0].Value, &i)
		require.NoError(t, err)
		urls[i] = e.URL
	}
	return urls
}
