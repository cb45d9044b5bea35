package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
	"github.com/footfall-dev/footfall/footfalltest"
)

// openShop is a shop on a real socket, with its own API.
type openShop struct {
	*site
	t     *testing.T
	api   *footfalltest.API
	end   context.CancelFunc
	ended chan struct{} // closed when err is set
	err   error
}

func openForTest(t *testing.T) *openShop {
	t.Helper()
	api := footfalltest.NewAPI(t)
	cfg := api.Config()
	cfg.MaxInFlight = 1 // so that events arrive in the order they were made; events of orders come on their own
	listener, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	site, err := open(t.Context(), listener, cfg, filepath.Join(t.TempDir(), "shop.db"), nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	shop := &openShop{site: site, t: t, api: api, end: end, ended: make(chan struct{})}
	go func() {
		shop.err = site.serve(ctx, options{}, io.Discard)
		close(shop.ended)
	}()
	t.Cleanup(func() {
		end()
		<-shop.ended
	})
	return shop
}

// closed closes the shop and returns what became of its events.
func (s *openShop) closed() string {
	s.t.Helper()
	s.end()
	<-s.ended
	require.NoError(s.t, s.err)
	return accountOf(s.tracker.Stats(), s.orders.Stats())
}

// arrived closes the shop and returns the events that arrived, without ids.
func (s *openShop) arrived() []footfalltest.Event {
	s.t.Helper()
	s.closed()
	events := s.api.Events()
	for i := range events {
		events[i].ID = ""
	}
	return events
}

// paid closes the shop after the payments of all orders are settled, and returns the events that arrived.
func (s *openShop) paid() []footfalltest.Event {
	s.t.Helper()
	require.NoError(s.t, s.orders.SettleBefore(s.t.Context(), time.Now().Add(time.Second)))
	return s.arrived()
}

// event returns an event of this shop.
func (s *openShop) event(name, path string, props map[string]any) footfalltest.Event {
	return footfalltest.Event{SiteID: footfalltest.SiteID, Name: name, URL: s.url + path, Props: props}
}

// browser keeps cookies and follows redirects.
type browser struct {
	*openShop
	client *http.Client
}

func (s *openShop) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	client := &http.Client{Jar: jar, Timeout: 10 * time.Second, Transport: &http.Transport{}}
	s.t.Cleanup(client.CloseIdleConnections)
	return &browser{s, client}
}

func (b *browser) get(path string) (status int, page string) {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, b.url+path, nil)
	require.NoError(b.t, err)
	r.Header.Set("Accept", "text/html")
	answer, err := b.client.Do(r)
	return b.read(answer, err)
}

func (b *browser) post(path string, form url.Values) (status int, page string) {
	b.t.Helper()
	answer, err := b.client.PostForm(b.url+path, form)
	return b.read(answer, err)
}

func (b *browser) read(answer *http.Response, err error) (int, string) {
	b.t.Helper()
	require.NoError(b.t, err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return answer.StatusCode, string(page)
}

func TestBuyingMakesTheseEvents(t *testing.T) {
	t.Parallel()
	shop := openForTest(t)
	b := shop.browser()

	b.get("/?utm_source=newsletter&utm_campaign=autumn&session=secret")
	_, page := b.get("/products/cloud-mug")
	assert.Contains(t, page, "<h1>Cloud Mug</h1>")
	assert.Contains(t, page, "€18.50")
	_, page = b.post("/basket", url.Values{"product": {"cloud-mug"}, "quantity": {"2"}})
	assert.Contains(t, page, "2 × €18.50")
	_, page = b.get("/checkout")
	assert.Contains(t, page, "€41.90") // with delivery
	status, page := b.post("/checkout", url.Values{"coupon": {" slowdown "}, "delivery": {"post"}, "payment": {"card"}})
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, page, "Thank you")
	_, page = b.get("/basket")
	assert.Contains(t, page, "There is nothing in it yet")

	const visit = "?utm_source=newsletter&utm_campaign=autumn"
	assert.ElementsMatch(t, []footfalltest.Event{
		shop.event("home_viewed", "/"+visit, nil),
		shop.event("product_viewed", "/products/cloud-mug"+visit, map[string]any{"slug": "cloud-mug"}),
		shop.event("basket_added", "/basket"+visit, nil),
		shop.event("basket_viewed", "/basket"+visit, nil),
		shop.event("checkout_started", "/checkout"+visit, nil),
		shop.event("coupon_applied", "/checkout"+visit, map[string]any{"code": "SLOWDOWN", "discount": 370.0}),
		shop.event("order_placed", "/checkout"+visit, map[string]any{"items": 2.0, "amount": 3820.0, "currency": "EUR", "landing": "/"}),
		shop.event("checkout_completed", "/checkout"+visit, nil),
		shop.event("thanks_viewed", "/thanks"+visit, nil), // its order number stays here
		shop.event("basket_viewed", "/basket"+visit, nil),
		shop.event("order_paid", "/payments"+visit, map[string]any{"amount": 3820.0, "currency": "EUR", "landing": "/"}),
	}, shop.paid())
}

func TestARefusedOrderIsCheckoutFailedAndNoOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		full   bool
		form   url.Values
		status int
		page   string
	}{
		"empty basket":     {false, nil, http.StatusConflict, "There is nothing in it yet"},
		"unknown coupon":   {true, url.Values{"coupon": {"jane@example.com"}}, http.StatusUnprocessableEntity, "not one of ours"},
		"card is declined": {true, url.Values{"payment": {storefront.Declined}}, http.StatusPaymentRequired, "The card was declined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := openForTest(t)
			b := shop.browser()
			var want []footfalltest.Event
			if c.full {
				b.post("/basket", url.Values{"product": {"long-lamp"}})
				want = append(want, shop.event("basket_added", "/basket", nil), shop.event("basket_viewed", "/basket", nil))
			}
			status, page := b.post("/checkout", c.form)
			assert.Equal(t, c.status, status)
			assert.Contains(t, page, c.page)
			assert.Equal(t, append(want, shop.event("checkout_failed", "/checkout", nil)), shop.arrived())
		})
	}
}

func TestRequestsThatShowNoPageMakeNoEvent(t *testing.T) {
	t.Parallel()
	shop := openForTest(t)
	b := shop.browser()

	status, _ := b.get("/products/no-such-thing")
	assert.Equal(t, http.StatusNotFound, status)
	status, _ = b.get("/shop.css")
	assert.Equal(t, http.StatusOK, status)
	status, _ = b.post("/basket", url.Values{"product": {"no-such-thing"}})
	assert.Equal(t, http.StatusNotFound, status)
	answer, err := b.client.Head(shop.url + "/")
	status, _ = b.read(answer, err)
	assert.Equal(t, http.StatusOK, status)
	status, _ = b.get("/checkout") // with nothing in the basket
	assert.Equal(t, http.StatusConflict, status)

	assert.Empty(t, shop.arrived())
}

func TestAnUnknownAddressIsPageNotFound(t *testing.T) {
	t.Parallel()
	shop := openForTest(t)
	status, page := shop.browser().get("/wp-login.php")
	assert.Equal(t, http.StatusNotFound, status)
	assert.Contains(t, page, "We looked, it is not here")
	assert.Equal(t, []footfalltest.Event{shop.event("page_not_found", "/wp-login.php", nil)}, shop.arrived())
}

func TestAFormOfAnotherSiteBuysNothingAndMakesNoEvent(t *testing.T) {
	t.Parallel()
	shop := openForTest(t)
	r, err := http.NewRequest(http.MethodPost, shop.url+"/checkout", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.AddCookie(&http.Cookie{Name: "basket", Value: "cloud-mug=1"})
	b := shop.browser()
	answer, err := b.client.Do(r)
	status, _ := b.read(answer, err)
	assert.Equal(t, http.StatusForbidden, status)
	assert.Empty(t, shop.arrived())
}

func TestEveryPageIsMade(t *testing.T) {
	t.Parallel()
	shop := openForTest(t)
	b := shop.browser()
	for _, p := range storefront.Catalog {
		status, page := b.get("/products/" + p.Slug)
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, page, "<svg")
		assert.NotContains(t, page, "<script")
	}
	assert.Equal(t, "delivered 6, lost 0", shop.closed())
}

func TestAPlanMakesAllItsEvents(t *testing.T) {
	t.Parallel()
	shop := openForTest(t)
	customers := newCustomers(shop.url, 1, nil, slog.New(slog.DiscardHandler))
	customers.thinking = 0
	var plans []plan
	for range 60 {
		plans = append(plans, customers.dice.plan())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	customers.visit(ctx, slices.Values(plans))
	shop.paid()

	stats := shop.tracker.Stats()
	assert.Equal(t, stats.Tracked, stats.Delivered)
	assert.Equal(t, footfall.Stats{Tracked: stats.Tracked, Delivered: stats.Tracked}, stats, "nothing lost, refused, invalid")
	arrived := make(map[string]int)
	for _, e := range shop.api.Events() {
		arrived[e.Name]++
	}
	assert.Equal(t, expected(plans), arrived)
}

// The API is away while the order is placed, and the payment is settled after a restart: the request that had the
// campaign is long gone.
func TestAnOrderKeepsItsCampaignThroughAnOutageAndARestart(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	file, cfg, away := filepath.Join(t.TempDir(), "shop.db"), api.Config(), api.Config()
	listener, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	away.BaseURL = urlOf(listener.Addr())
	require.NoError(t, listener.Close())
	shop, err := open(t.Context(), listener, away, file, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	server := httptest.NewServer(shop.server.Handler)
	defer server.Close()
	shop.url = server.URL
	b := (&openShop{site: shop, t: t}).browser()
	b.get("/products/cloud-mug?utm_source=newsletter&utm_medium=email&utm_campaign=autumn")
	b.get("/?utm_source=ads") // the first campaign counts
	b.post("/basket", url.Values{"product": {"cloud-mug"}})
	_, page := b.post("/checkout", nil)
	require.Contains(t, page, "Thank you")
	over, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, shop.orders.Close(t.Context()))
	require.Error(t, shop.tracker.Close(over), "its events are lost")

	shop, err = open(t.Context(), listener, cfg, file, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, shop.orders.SettleBefore(t.Context(), time.Now().Add(time.Second)))
	require.NoError(t, shop.orders.SettleBefore(t.Context(), time.Now().Add(time.Second)), "nothing is paid twice")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, shop.orders.Flush(ctx))
	require.NoError(t, shop.orders.Close(ctx))
	require.NoError(t, shop.tracker.Close(ctx))
	pages := make(map[string]string)
	for _, e := range api.Events() {
		pages[e.Name] += e.URL
		assert.Equal(t, "/products/cloud-mug", e.Props["landing"], e.Name)
		assert.EqualValues(t, 2340, e.Props["amount"], e.Name)
	}
	const visit = "?utm_source=newsletter&utm_medium=email&utm_campaign=autumn"
	assert.Equal(t, map[string]string{
		"order_placed": server.URL + "/checkout" + visit,
		"order_paid":   urlOf(listener.Addr()) + "/payments" + visit,
	}, pages)
}

// expected counts the events that plans make.
func expected(plans []plan) map[string]int {
	n := make(map[string]int)
	add := func(name string, count int) {
		if count > 0 {
			n[name] += count
		}
	}
	for _, p := range plans {
		if !p.deep {
			add("home_viewed", 1)
		}
		add("product_viewed", len(p.looksAt))
		add("basket_added", p.takes)
		add("basket_viewed", p.takes)
		if p.takes == 0 || p.leaves {
			continue
		}
		add("checkout_started", 1)
		if p.payment == storefront.Declined {
			add("checkout_failed", 1)
			continue
		}
		if p.coupon != "" {
			add("coupon_applied", 1)
		}
		add("order_placed", 1)
		add("order_paid", 1)
		add("checkout_completed", 1)
		add("thanks_viewed", 1)
	}
	return n
}
