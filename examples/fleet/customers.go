package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// atOnce bounds the customers in the shops; others wait.
const atOnce = 256

// visits lets customers into the shops in turn until ctx ends. It returns when all have left.
func (f *fleet) visits(ctx context.Context) {
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	limit := rate.NewLimiter(rate.Limit(f.opts.traffic), 1+f.opts.traffic/10)
	free := make(chan struct{}, atOnce)
	var inside sync.WaitGroup
	defer inside.Wait()
	for i := 0; limit.Wait(ctx) == nil; i++ {
		c, err := newCustomer(f.ledger, f.shopFor(i), transport)
		if err != nil {
			return // a jar without options has no error
		}
		free <- struct{}{}
		inside.Go(func() {
			c.visit(context.WithoutCancel(ctx))
			<-free
		})
	}
}

// shopFor returns the next shop in turn. At most one of them is nil.
func (f *fleet) shopFor(i int) *shop {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if s := f.shops[i%len(f.shops)]; s != nil {
		return s
	}
	return f.shops[(i+1)%len(f.shops)]
}

// customer buys a product of a shop.
type customer struct {
	ledger *ledger
	shop   *shop
	client *http.Client
}

func newCustomer(l *ledger, s *shop, transport *http.Transport) (*customer, error) {
	jar, err := cookiejar.New(nil) // of the basket
	return &customer{l, s, &http.Client{
		Transport: transport, Jar: jar, Timeout: 5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, err
}

// visit makes each request once: a shop that was killed may have tracked its events.
func (c *customer) visit(ctx context.Context) {
	product := storefront.Catalog[rand.IntN(len(storefront.Catalog))].Slug
	for _, step := range steps {
		path := step.path
		if strings.HasSuffix(path, "/") {
			path += product
		}
		numbers := c.ledger.send(c.shop.row, len(step.events))
		if !c.request(ctx, step.method, withNumber(c.shop.ready+path, numbers[0]), url.Values{"product": {product}}) {
			return
		}
		for _, n := range numbers {
			c.ledger.update(n, func(e *event) { e.answered = true })
		}
	}
}

// request reports whether the shop did what the customer wanted.
func (c *customer) request(ctx context.Context, method, address string, form url.Values) bool {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := c.client.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err == nil && answer.StatusCode < http.StatusBadRequest
}
