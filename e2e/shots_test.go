//go:build screenshot

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestShots writes a picture of every page to the directory SHOTS, wide and narrow, light
// and dark, to be checked by eye.
func TestShots(t *testing.T) {
	dir := os.Getenv("SHOTS")
	if dir == "" {
		t.Skip("SHOTS names no directory")
	}
	eachPage(t, func(b *browser, p page) {
		for _, scheme := range []string{"light", "dark"} {
			for name, width := range map[string]int64{"wide": 1280, "narrow": 390} {
				b.look(width, 800, scheme)
				picture := run(b, chromedp.FullScreenshot(100))
				require.NoError(t, os.WriteFile(filepath.Join(dir, p.name+"-"+name+"-"+scheme+".png"), picture, 0o644))
			}
		}
	})
}
