package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// atOnce bounds the customers in the shop; others wait.
const atOnce = 100

// customers visit the shop as people do: over the socket, each with their own
// cookies, at irregular times.
type customers struct {
	shopURL   string
	perMinute int
	thinking  time.Duration      // between two clicks, on average
	script    *storefront.Script // run by their browsers; nil for none
	transport *http.Transport
	log       *slog.Logger
	dice      dice // for plans
}

func newCustomers(shopURL string, perMinute int, script *storefront.Script, log *slog.Logger) *customers {
	return &customers{
		shopURL:   shopURL,
		perMinute: perMinute,
		script:    script,
		thinking:  400 * time.Millisecond,
		transport: &http.Transport{MaxIdleConnsPerHost: atOnce, ResponseHeaderTimeout: 10 * time.Second},
		log:       log,
		dice:      newDice(rand.Uint64()),
	}
}

// come lets customers in until ctx ends, and returns when the last has left.
func (c *customers) come(ctx context.Context) {
	c.visit(ctx, func(yield func(plan) bool) {
		for yield(c.dice.plan()) && c.wait(ctx, time.Minute/time.Duration(c.perMinute)) {
		}
	})
}

// visit carries out plans, many at once, and returns when all are.
func (c *customers) visit(ctx context.Context, plans iter.Seq[plan]) {
	// The server would wait for unused connections when it closes.
	defer c.transport.CloseIdleConnections()
	var visits sync.WaitGroup
	defer visits.Wait()
	door := make(chan struct{}, atOnce)
	for p := range plans {
		select {
		case door <- struct{}{}:
		case <-ctx.Done():
			return
		}
		visits.Go(func() {
			defer func() { <-door }()
			if err := c.follow(ctx, p); err != nil && ctx.Err() == nil {
				c.log.Warn("a customer left in the middle of a visit", "error", err)
			}
		})
	}
}

// wait waits for a random time with the given mean and an exponential distribution.
// It returns false if ctx has ended.
func (c *customers) wait(ctx context.Context, mean time.Duration) bool {
	timer := time.NewTimer(time.Duration(rand.ExpFloat64() * float64(mean)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// plan is a customer's visit.
type plan struct {
	source  string   // where the link was, for utm_source; "" if it was none
	from    string   // page that the link was on; "" if it was none
	deep    bool     // the link leads to the first product, not to the home page
	looksAt []string // slugs
	takes   int      // how many of those go into the basket
	leaves  bool     // without buying
	coupon  string
	payment string
	browser int // index in browsers
}

// agent is the browser that a customer comes with.
type agent struct {
	header       string // User-Agent, with a place for the version
	name, device string // as the collector names them
}

// browsers lists what customers come with, each as often.
var browsers = []agent{
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Safari/537.36", "Chrome", "Desktop"},
	{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Mobile Safari/537.36", "Chrome", "Mobile"},
	{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%d.0 Mobile/15E148 Safari/604.1", "Safari", "Mobile"},
	{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/%d.0", "Firefox", "Desktop"},
}

// dice makes random choices. It is for one goroutine.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, seed))} }

// plan returns a random plan: most customers with a full basket buy it, some leave it
// behind, and a few have a card that is declined.
func (d dice) plan() plan {
	p := plan{source: d.pick("", "", "", "newsletter", "newsletter", "newsletter", "ads", "ads", "neighbours"), browser: d.IntN(len(browsers))}
	p.deep = p.source == "ads" || p.source == "newsletter" && d.chance(50)
	if p.source == "" {
		p.from = d.pick("", "https://www.slow-living.example/shops", "https://search.example/", "https://search.example/")
	}
	p.looksAt = d.products(1 + d.IntN(3))
	if d.chance(80) {
		p.takes = 1 + d.IntN(len(p.looksAt))
	}
	p.leaves = d.chance(20)
	if d.chance(20) {
		p.coupon = "SLOWDOWN"
	}
	if d.chance(8) {
		p.payment = storefront.Declined
	}
	return p
}

// products returns the slugs of n products. The first ones of the catalog are the most popular.
func (d dice) products(n int) (slugs []string) {
	place := make(map[*storefront.Product]float64, len(storefront.Catalog))
	for i, p := range storefront.Catalog {
		place[p] = d.ExpFloat64() * float64(i+2)
	}
	for _, p := range slices.SortedFunc(maps.Keys(place), func(a, b *storefront.Product) int { return cmp.Compare(place[a], place[b]) })[:n] {
		slugs = append(slugs, p.Slug)
	}
	return slugs
}

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func (d dice) pick(choices ...string) string { return choices[d.IntN(len(choices))] }

// follow carries out one plan.
func (c *customers) follow(ctx context.Context, p plan) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	v := &visitor{customers: c, client: &http.Client{Transport: c.transport, Jar: jar}, referrer: p.from}
	// All customers have the same address, so the version of the browser tells them apart.
	v.tab = tab{c.script, v.client, fmt.Sprintf(browsers[p.browser].header, rand.IntN(1e6)), p.from}
	v.get(ctx, p.landing()+p.query())
	for i, slug := range p.looksAt {
		if i > 0 || !p.deep {
			v.get(ctx, "/products/"+slug)
		}
		if i < p.takes {
			v.post(ctx, "/basket", http.StatusOK, url.Values{"product": {slug}, "quantity": {strconv.Itoa(1 + i%2)}})
		}
	}
	if p.takes == 0 || p.leaves {
		return v.err
	}
	v.get(ctx, "/checkout")
	v.post(ctx, "/checkout", p.answer(), url.Values{"coupon": {p.coupon}, "payment": {p.payment}})
	return v.err
}

// campaigns are the medium and the campaign of each source.
var campaigns = map[string][2]string{
	"newsletter": {"email", "autumn-letter"},
	"ads":        {"cpc", "slow-kettles"},
	"neighbours": {"print", "doorsteps"},
}

// landing returns the path of the first page.
func (p plan) landing() string {
	if p.deep {
		return "/products/" + p.looksAt[0]
	}
	return "/"
}

// query returns the query of the first page.
func (p plan) query() string {
	if p.source == "" {
		return ""
	}
	of := campaigns[p.source]
	return "?utm_source=" + p.source + "&utm_medium=" + of[0] + "&utm_campaign=" + of[1]
}

// answer returns the final status after paying, which is the thank-you page's or an error.
func (p plan) answer() int {
	if p.payment == storefront.Declined {
		return http.StatusPaymentRequired
	}
	return http.StatusOK
}

// visitor makes requests until one of them fails.
type visitor struct {
	*customers
	client   *http.Client
	tab      tab
	referrer string // of the first page
	err      error  // the first; nothing is done after it
}

func (v *visitor) get(ctx context.Context, path string) {
	v.do(ctx, http.MethodGet, path, http.StatusOK, nil)
}

func (v *visitor) post(ctx context.Context, path string, want int, form url.Values) {
	v.do(ctx, http.MethodPost, path, want, form)
}

func (v *visitor) do(ctx context.Context, method, path string, want int, form url.Values) {
	if v.err != nil {
		return
	}
	if !v.wait(ctx, v.thinking) {
		v.err = ctx.Err()
		return
	}
	status, err := v.send(ctx, method, v.shopURL+path, form)
	if err == nil && status != want {
		err = fmt.Errorf("%s %s answered %d", method, path, status)
	}
	v.err = err
}

// send follows redirects, as browsers do, and reads the page to its end.
func (v *visitor) send(ctx context.Context, method, address string, form url.Values) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept", "text/html")
	if v.referrer != "" {
		r.Header.Set("Referer", v.referrer)
		v.referrer = ""
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := v.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if _, err = io.Copy(io.Discard, answer.Body); err != nil {
		return 0, err
	}
	return answer.StatusCode, v.tab.show(ctx, answer.Request.URL)
}
