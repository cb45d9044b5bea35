package e2e

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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
	b.order()
}

// order buys the product on the page.
func (b *browser) order() {
	b.t.Helper()
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

// Four customers buy, two of them from the newsletter. Events of the server answer how many did, and for how much.
func TestTheDashboardSaysHowManyFromTheNewsletterBoughtAndForHowMuch(t *testing.T) {
	shop, browser := startShop(t), openBrowser(t)
	browser.signIn(shop)
	for _, landing := range []string{
		"/products/drowsy-kettle?utm_source=newsletter&utm_medium=email&utm_campaign=autumn",
		"/products/long-lamp?utm_source=newsletter&utm_medium=email&utm_campaign=winter",
		"/products/cloud-mug?utm_source=ads&utm_medium=cpc&utm_campaign=mugs", "/products/cloud-mug",
	} {
		customer := openBrowser(t)
		customer.open(shop.shop + landing)
		customer.order()
	}
	browser.open(shop.dashboard())
	browser.click("a.cover")
	browser.press("order_placed")
	bought := []string{
		`(?s)Sources\s+Source\s+Events\s+Sum of amount\s+newsletter\s+2\s+15,280\s+ads\s+1\s+2,340\s+None\s+1\s+2,340\s`,
		`(?s)UTM campaigns\s.*autumn\s+1\s+6,390\s.*mugs\s+1\s+2,340\s.*winter\s+1\s+8,890\s`,
		`(?s)landing\s+Value\s+Events\s+Sum of amount\s+/products/cloud-mug\s+2\s+4,680\s`,
	}
	browser.shows(bought...)
	browser.press("items")
	browser.shows(`Source\s+Events\s+Sum of items\s+newsletter\s+2\s+2\s`)

	browser.press("← Events")
	for deadline := time.Now().Add(patience); !matchesAll(browser.text(), []string{`order_paid\s+4\s`}) && time.Now().Before(deadline); {
		browser.do(chromedp.Reload())
	}
	browser.press("order_paid") // three seconds after the orders, by a job
	browser.shows(bought...)
}
