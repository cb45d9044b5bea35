//go:build screenshot

package e2e

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestScreenshot makes the picture in the README from the running shop: see the Makefile.
// It shows the first page of the dashboard with a past of 60 days: the range of the page, and the one before it.
func TestScreenshot(t *testing.T) {
	shop, browser := startShop(t, "-history", "60d"), openBrowser(t)
	browser.signIn(shop)
	browser.do(chromedp.EmulateViewport(1280, 1500))
	browser.open(shop.dashboard())
	browser.click("a.cover")
	picture, err := chromedp.Run(browser.ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("../docs", 0o755))
	require.NoError(t, os.WriteFile("../docs/dashboard.png", picture, 0o644))
	require.Less(t, len(picture), 200<<10)
	shop.end(t)
}
