//go:build ci

package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestEveryPage tests each page of the list. A complaint in the console, such as a violation
// of the page's policy, fails the test.
func TestEveryPage(t *testing.T) {
	crawl := newCrawl()
	eachPage(t, func(b *browser, p page) {
		t.Run(p.name, func(t *testing.T) {
			for _, promise := range promises {
				t.Run(promise.name, func(t *testing.T) { promise.check(t, b.in(t)) })
			}
			assert.Empty(t, b.complaints(), "of the console")
		})
		crawl.add(b, p)
	})
	t.Run("is in the list", crawl.check)
}
