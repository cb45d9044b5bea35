package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// signIn sets the dashboard's password by the link that the shop printed.
func (b *browser) signIn(p *program) {
	b.t.Helper()
	b.open(p.setup)
	b.fill("password", "a password for tests")
	b.press("Set the password")
}

// buy buys a product.
func (b *browser) buy(p *program) {
	b.t.Helper()
	b.open(p.shop)
	b.click(`a[href^="/products/"]`)
	b.click(`form[action="/basket"] button`)
	b.click(`a[href="/checkout"]`)
	b.click(`form[action="/checkout"] button`)
}

func TestVisitAndOrderAreInTheDashboardWithinASecond(t *testing.T) {
	shop, browser := startShop(t), openBrowser(t)
	browser.signIn(shop)
	browser.buy(shop)
	browser.open(shop.dashboard())
	browser.click("a.cover")
	browser.shows(`checkout_completed\s+1\b`, `/basket\s+1\b`, `/thanks\s+1\b`)
	assert.Regexp(t, `^delivered [1-9]\d*, lost 0$`, shop.end(t))
}

func TestSiteAndGoalAreMadeByClicking(t *testing.T) {
	shop, browser := startShop(t), openBrowser(t)
	browser.signIn(shop)
	browser.open(shop.dashboard())
	browser.press("Add a site")
	browser.fill("domain", "https://blog.example.com/about")
	browser.fill("name", "The blog")
	browser.press("Add the site")
	browser.shows(`The blog`, `blog\.example\.com`)

	browser.buy(shop)
	browser.open(shop.dashboard())
	browser.press("Murrowby")
	browser.press("Goals")
	browser.press("Add a goal")
	browser.fill("name", "Paid in euros")
	browser.choose("what1", "event")
	browser.fill("text1", "order_placed")
	browser.fill("key1", "currency")
	browser.fill("value1", "EUR")
	browser.press("Save")
	browser.shows(`Paid in euros\s+Event order_placed with currency = EUR\s+1\b`, `Bought something\s+Event checkout_completed\s+1\b`)
	browser.press("Funnels")
	browser.shows(`Orders, as the server saw them`)
}
