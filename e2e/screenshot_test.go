//go:build screenshot

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestScreenshot makes the picture in the README from the running shop: see the Makefile.
// It shows the first page of the dashboard after a minute of customers.
func TestScreenshot(t *testing.T) {
	shop, browser := startShop(t, "-traffic", "1500"), openBrowser(t)
	browser.signIn(shop)
	time.Sleep(40 * time.Second)
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
