package e2e

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// inspect is the script with the functions of window.inspect, which the tests below call.
//
//go:embed testdata/inspect.js
var inspect string

// widths are the widths of two phones and a desktop.
var widths = []int64{360, 390, 1280}

// promises are checks that every page passes.
var promises = []struct {
	name  string
	check func(*testing.T, *browser)
}{
	{"does not scroll sideways", doesNotScrollSideways},
	{"has contrast AA in light and dark", hasContrast},
	{"is reached by Tab in order, with an outline that shows", isReachedByTab},
}

func doesNotScrollSideways(t *testing.T, b *browser) {
	for _, width := range widths {
		b.look(width, 800, "light")
		b.inspecting()
		assert.Empty(t, eval[[]string](b, `inspect.overflow()`), "at %d px", width)
	}
}

// The page of an event has a wide table. A phone does not show that its region can scroll.
func TestTheNumbersOfAnEventFitAPhone(t *testing.T) {
	f, b := furnish(t), openBrowser(t)
	b.signInTo(f.service)
	b.open(f.service.url + "/sites/" + f.backend.ID + "/events?name=order_placed&range=30d")
	for _, width := range widths {
		b.look(width, 800, "light")
		assert.Equal(t, 0, eval[int](b, `(e => e.scrollWidth - e.clientWidth)(document.querySelector(".numbers .scroll"))`), "at %d px", width)
	}
}

// contrasts is what inspect.contrast returns.
type contrasts struct {
	Weak   []string `json:"weak"`
	Texts  int      `json:"texts"`
	Ground string   `json:"ground"`
}

func hasContrast(t *testing.T, b *browser) {
	grounds := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.look(1280, 6000, scheme) // high enough for the whole page: only visible elements have a known background
		b.inspecting()
		seen := eval[contrasts](b, `inspect.contrast()`)
		assert.Empty(t, seen.Weak, scheme)
		assert.Greater(t, seen.Texts, 3, "%s: texts were measured", scheme)
		grounds[seen.Ground] = true
	}
	assert.Len(t, grounds, 2, "light and dark differ")
}

func isReachedByTab(t *testing.T, b *browser) {
	for _, width := range []int64{390, 1280} {
		b.look(width, 800, "light")
		b.inspecting()
		stops := eval[[]string](b, `inspect.stops()`)
		assert.NotEmpty(t, stops)
		b.do(chromedp.KeyEvent(strings.Repeat(kb.Tab, len(stops))))
		for range 10 { // a field for days has several stops
			if len(eval[[]string](b, `inspect.reached`)) >= len(stops) {
				break
			}
			b.do(chromedp.KeyEvent(kb.Tab))
		}
		assert.Equal(t, stops, eval[[]string](b, `inspect.reached`), "at %d px", width)
		assert.Empty(t, eval[[]string](b, `inspect.dim`), "at %d px: where the focus does not show", width)
	}
}

// inspecting puts the functions of inspect into the page.
func (b *browser) inspecting() {
	b.t.Helper()
	eval[bool](b, inspect+"; true")
}

// The footer of a page that is shorter than the window would otherwise be in the middle of it.
func TestTheFooterOfAShortPageIsAtTheBottom(t *testing.T) {
	f, b := furnish(t), openBrowser(t)
	b.signInTo(f.service)
	for _, path := range []string{"/password", "/sites/" + f.empty.ID + "/goals"} {
		for _, width := range widths {
			b.look(width, 1400, "light")
			b.open(f.service.url + path)
			below := eval[float64](b, `innerHeight - document.querySelector(".foot").getBoundingClientRect().bottom`)
			assert.InDelta(t, 36, below, 5, "%s at %d px", path, width)
		}
	}
}

// A line of code that wraps, such as in the middle of a port, is read as two.
func TestLinesOfCodeDoNotWrapOnAPhone(t *testing.T) {
	f, b := furnish(t), openBrowser(t)
	b.signInTo(f.service)
	b.look(390, 800, "light")
	b.open(f.service.url + "/sites/" + f.empty.ID)
	wrapped := eval[[]string](b, `[...document.querySelectorAll(".snippet pre")].filter(pre => {
		const style = getComputedStyle(pre);
		const height = pre.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
		return Math.round(height / parseFloat(style.lineHeight)) > pre.textContent.trimEnd().split("\n").length;
	}).map(pre => pre.textContent)`)
	assert.Empty(t, wrapped)
}
