package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// pasted is a main function around the lines that the dashboard shows.
const pasted = `package main

import (
	"context"
	"log"
	"time"

	"github.com/footfall-dev/footfall"
)

func main() {
	$lines
}
`

// snippet is the text of the snippet that has the label.
func (b *browser) snippet(label string) string {
	b.t.Helper()
	return run(b, chromedp.Text(chromedp.CSS(`pre[aria-label="`+label+`"]`)))
}

// runPasted runs the lines of Go as a program, with the variables set by the lines for a shell, and
// returns what it prints.
func runPasted(t *testing.T, env, lines string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(os.Expand(pasted, func(string) string { return lines })), 0o600))
	out, err := exec.CommandContext(t.Context(), "sh", "-c", env+"\nexec go run "+file).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestPastedLinesSendTheFirstEventAndThePageShowsIt(t *testing.T) {
	for name, scripts := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			var site account.Site
			s := startService(t, func(_ store.Store, a *account.Account) {
				owned(t, a)
				site = addSite(t, a, "The shop", "shop.example.com")
			})
			b := openBrowser(t)
			if !scripts {
				b.withoutScripts()
			}
			b.signInTo(s)
			b.open(s.url + "/keys")
			b.fill("label", "server")
			b.press("Issue a key")
			env, lines := b.snippet("Environment variables"), b.snippet("Lines of Go")

			b.open(s.url + "/sites/" + site.ID)
			require.Contains(t, b.text(), "Waiting for the first event")
			assert.Equal(t, lines, b.snippet("Lines of Go"))
			refused := runPasted(t, env+"\nexport FOOTFALL_SITE_ID=site_unknown", lines)
			assert.Regexp(t, `(?m)there is no site with the id (.|\n)* events that arrived: 0$`, refused)
			assert.Regexp(t, `(?m) events that arrived: 1$`, runPasted(t, env, lines))
			b.do(chromedp.WaitNotPresent(chromedp.CSS("#waiting")), chromedp.WaitReady(chromedp.CSS("main h1")))
			assert.Contains(t, b.text(), "signup")
			assert.False(t, eval[bool](b, `!!document.querySelector("meta[http-equiv]")`), "it refreshes itself no more")
		})
	}
}
