//go:build ci

package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// focusName returns the name of the focused element, as a screen reader says it.
const focusName = `(() => {
	const e = document.activeElement;
	return (e.labels?.[0] ?? e).textContent.trim().replace(/\s+/g, " ");
})()`

// tabTo presses Tab until the element with the name has the focus.
func (b *browser) tabTo(name string) {
	b.t.Helper()
	for range 100 {
		b.keys(kb.Tab)
		if eval[string](b, focusName) == name {
			return
		}
	}
	require.Fail(b.t, "Tab does not come to "+name)
}

func (b *browser) keys(text string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(text))
}

// enter presses Enter, and waits for the page it leads to.
func (b *browser) enter() {
	b.t.Helper()
	_, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(kb.Enter))
	require.NoError(b.t, err)
}

// enterAt goes to the element with the name by Tab and presses Enter.
func (b *browser) enterAt(name string) {
	b.t.Helper()
	b.tabTo(name)
	b.enter()
}

// typeAt goes to the element with the name by Tab and types.
func (b *browser) typeAt(name, text string) {
	b.t.Helper()
	b.tabTo(name)
	b.keys(text)
}

func TestEverythingIsDoneByKeyboardAlone(t *testing.T) {
	b := openBrowser(t)
	s := startService(t, func(_ store.Store, a *account.Account) { owned(t, a) })
	b.open(s.url + "/login")
	b.do(chromedp.WaitReady(chromedp.CSS("#password:focus"))) // Chromium sets the focus after the page is loaded
	b.keys(password)
	b.enter()

	b.enterAt("Add the first site")
	b.typeAt("Domain", "shop.example.com")
	b.typeAt("Name", "The shop")
	b.enter()
	b.shows(`The site was added`)
	site, ok := s.account.SiteOf("shop.example.com")
	require.True(t, ok)

	b.enterAt("Goals")
	b.enterAt("Add the first goal")
	b.typeAt("Name", "Bought it")
	b.typeAt("Kind", kb.ArrowDown)
	b.typeAt("Path or event name", "paid")
	b.typeAt("If prop", "plan")
	b.typeAt("equals", "pro")
	b.enterAt("Save")
	pro := store.Match{Event: "paid", PropKey: "plan", PropValue: "pro"}
	require.Len(t, s.account.Goals(site.ID), 1)
	assert.Equal(t, pro, s.account.Goals(site.ID)[0].Match)

	b.enterAt("Funnels")
	b.enterAt("Add the first funnel")
	b.typeAt("Name", "The way")
	b.typeAt("Path or event name", "/")
	b.typeAt("More steps", kb.Enter)
	b.typeAt("Path or event name", "/thanks")
	b.enterAt("Save")
	require.Len(t, s.account.Funnels(site.ID), 1)
	assert.Equal(t, []store.Match{{Page: "/"}, {Page: "/thanks"}}, s.account.Funnels(site.ID)[0].Steps)
	b.typeAt("Delete", kb.Enter)
	b.enterAt("Delete The way")
	assert.Empty(t, s.account.Funnels(site.ID))

	b.enterAt("API keys")
	b.typeAt("Name", "the till")
	b.enterAt("Issue a key")
	keys := s.account.Keys()
	require.Len(t, keys, 1)
	b.typeAt("Revoke", kb.Enter)
	b.enterAt("Revoke the till (…" + keys[0].Hint + ")")
	assert.Empty(t, s.account.Keys())
}
