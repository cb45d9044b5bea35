package e2e

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// userAgent is Chromium's own without the word Headless, by which the collector would
// take it for a bot.
const userAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// browser is a Chromium with one tab. What cannot be done fails the test.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// openBrowser starts a Chromium that ends with the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	binary, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("this test needs Chromium: on Debian, apt-get install chromium")
	}
	require.NoError(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(binary), chromedp.NoSandbox, chromedp.UserAgent(userAgent))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	t.Cleanup(cancel)
	return &browser{t, ctx}
}

func (b *browser) open(address string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(address)), address)
}

// press clicks the button or link that has the text, and waits for the page it leads to.
func (b *browser) press(text string) {
	b.t.Helper()
	b.click(`//*[self::button or self::a][normalize-space()="` + text + `"]`)
}

// click clicks what the selector, CSS or XPath, finds first, and waits for the page it
// leads to.
func (b *browser) click(selector string) {
	b.t.Helper()
	_, err := chromedp.RunResponse(b.ctx, chromedp.Click(selector))
	require.NoError(b.t, err, selector)
}

// fill types into the field that has the name.
func (b *browser) fill(name, text string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS(`[name="`+name+`"]`), text)), name)
}

// choose picks the option that has the value, in the list that has the name.
func (b *browser) choose(name, value string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.SetValue(chromedp.CSS(`[name="`+name+`"]`), value)), name)
}

// text is that of the page.
func (b *browser) text() string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
	require.NoError(b.t, err)
	return text
}

// shows loads the page again and again until its text matches all patterns, for as long
// as an event may take to be seen: a second.
func (b *browser) shows(patterns ...string) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Second); ; {
		text := b.text()
		if matchesAll(text, patterns) {
			return
		}
		if time.Now().After(deadline) {
			for _, p := range patterns {
				assert.Regexp(b.t, p, text)
			}
			return
		}
		require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Reload()))
	}
}

func matchesAll(text string, patterns []string) bool {
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			return false
		}
	}
	return true
}
