package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// maxHistory bounds -history, in days.
const maxHistory = 400

// visitsPerDay is the average of the days before today.
const visitsPerDay = 200

// Weights of the hours of a day (UTC) and of the days of a week, beginning with Sunday: people
// shop in the evening and at the weekend.
var (
	hourly = [24]float64{.3, .2, .1, .1, .1, .2, .5, .9, 1.2, 1.4, 1.5, 1.4, 1.3, 1.2, 1.1, 1.1, 1.2, 1.4, 1.7, 2, 2.1, 1.7, .9, .4}
	daily  = [7]float64{1.25, .95, .85, .85, .95, 1, 1.15}
)

// history makes the events of visits before now. The same seed and the same time make the same
// events.
type history struct {
	site string
	url  string // of the shop
	now  time.Time
	dice dice
}

// fill adds the events of visits in the last days to the service. If the shop has events already,
// it adds none.
func (s *service) fill(ctx context.Context, shopURL string, days int) error {
	now := time.Now()
	latest, err := s.store.Recent(ctx, store.Query{Site: s.site.ID, From: time.UnixMilli(0), To: now.Add(time.Hour)}, 1)
	if err != nil || len(latest) > 0 {
		return err
	}
	h := &history{site: s.site.ID, url: shopURL, now: now, dice: newDice(1)}
	adding, all := errgroup.WithContext(ctx)
	adding.SetLimit(1024) // they share commits
	for e := range h.events(days) {
		if all.Err() != nil {
			break
		}
		adding.Go(func() error { _, err := s.store.Add(all, e); return err })
	}
	if err := adding.Wait(); err != nil {
		return fmt.Errorf("the events of -history: %w", err)
	}
	return nil
}

// events returns the events of the last days, today included, visit by visit.
func (h *history) events(days int) iter.Seq[store.Event] {
	return func(yield func(store.Event) bool) {
		today := h.now.UTC().Truncate(24 * time.Hour)
		for ago := days - 1; ago >= 0; ago-- {
			if !h.day(today.AddDate(0, 0, -ago), 1-float64(ago)/500, yield) { // the shop does a little better every week
				return
			}
		}
	}
}

// day yields the events of the visits that begin on a day. It returns false if yield did.
func (h *history) day(day time.Time, growth float64, yield func(store.Event) bool) bool {
	luck := .85 + .3*h.dice.Float64()
	for hour, weight := range hourly {
		for range h.dice.poisson(visitsPerDay / 24. * weight * daily[day.Weekday()] * growth * luck) {
			at := day.Add(time.Duration(hour)*time.Hour + time.Duration(h.dice.Int64N(int64(time.Hour))))
			if !h.visit(at, h.dice.plan(), yield) {
				return false
			}
		}
	}
	return true
}

// visit yields the events that the shop and the browser would send if a customer followed p from at
// on. It leaves out those after now.
func (h *history) visit(at time.Time, p plan, yield func(store.Event) bool) bool {
	v := &pastVisit{history: h, plan: p, at: at, visitor: h.dice.Uint64() | 1, first: true, yield: yield}
	if !p.deep {
		v.page("home_viewed", "/")
	}
	var b storefront.Basket
	for i, slug := range p.looksAt {
		v.page("product_viewed", "/products/"+slug, text("slug", slug))
		if i < p.takes {
			b = b.With(storefront.Find(slug), 1+i%2)
			v.server("basket_added", "/basket")
			v.page("basket_viewed", "/basket")
		}
	}
	if p.takes > 0 && !p.leaves {
		v.page("checkout_started", "/checkout")
		v.pay(storefront.Order{Basket: b, Delivery: storefront.Deliveries[0], Coupon: p.coupon, Payment: p.payment})
	}
	return !v.ended
}

// pastVisit is a visit of a customer.
type pastVisit struct {
	*history
	plan
	at      time.Time
	visitor uint64
	first   bool // no page was shown yet
	yield   func(store.Event) bool
	ended   bool // yield returned false
}

// pay sends the form of the checkout.
func (v *pastVisit) pay(o storefront.Order) {
	if o.Payment == storefront.Declined {
		v.server("checkout_failed", "/checkout")
		v.pageview("/checkout")
		return
	}
	if o.Coupon != "" {
		v.server("coupon_applied", "/checkout", text("code", o.Coupon), number("discount", int(o.Discount())))
	}
	amount, currency, landing := number("amount", int(o.Total())), text("currency", storefront.Currency), text("landing", v.landing())
	v.server("order_placed", "/checkout", landing, number("items", o.Basket.Pieces()), amount, currency)
	v.server("checkout_completed", "/checkout")
	v.page("thanks_viewed", "/thanks")
	v.at = v.at.Add(time.Hour)
	v.server("order_paid", "/payments", landing, amount, currency)
}

// page shows a page for a while: the server sends an event, and the browser a pageview.
func (v *pastVisit) page(name, path string, props ...store.Prop) {
	v.server(name, path, props...)
	v.pageview(path)
}

// server yields an event of the server, some time after the last one.
func (v *pastVisit) server(name, path string, props ...store.Prop) {
	v.at = v.at.Add(time.Duration(v.dice.ExpFloat64()*float64(20*time.Second)) + time.Second)
	v.add(store.Event{Name: name, Props: props}, path+v.touch())
}

// touch returns the query that the shop adds to the pages of a visit's events.
func (v *pastVisit) touch() string {
	if host := v.referrer(); host != "" {
		return "?ref=" + host
	}
	return v.query()
}

// referrer returns the host that the visit came from.
func (v *pastVisit) referrer() string {
	from, err := url.Parse(v.from)
	if err != nil {
		panic(err) // cannot happen: dice has chosen it
	}
	return strings.TrimPrefix(from.Hostname(), "www.")
}

// pageview yields a pageview of the browser, just after the server's event.
func (v *pastVisit) pageview(path string) {
	v.at = v.at.Add(40 * time.Millisecond)
	with := browsers[v.browser]
	e := store.Event{Visitor: v.visitor, Browser: with.name, Device: with.device}
	if v.first { // further pages were reached from the shop
		e.Referrer = v.referrer()
		path += v.query()
	}
	v.first = false
	v.add(e, path)
}

func (v *pastVisit) add(e store.Event, path string) {
	if v.ended || v.at.After(v.now) {
		return
	}
	e.Site, e.At, e.URL = v.site, v.at.Truncate(time.Millisecond), v.url+path
	page, err := url.Parse(e.URL)
	if err != nil {
		panic(err) // cannot happen: the shop's own address
	}
	query := page.Query()
	source := cmp.Or(query.Get("utm_source"), query.Get("ref"))
	e.Path, e.Source, e.Medium, e.Campaign = page.Path, source, query.Get("utm_medium"), query.Get("utm_campaign")
	v.ended = !v.yield(e)
}

func text(key, value string) store.Prop { return store.Prop{Key: key, Value: value} }

func number(key string, n int) store.Prop {
	return store.Prop{Key: key, Value: strconv.Itoa(n), Numeric: true}
}

// poisson returns a random number of visits with this mean.
func (d dice) poisson(mean float64) (n int) {
	for waited := d.ExpFloat64(); waited < mean; waited += d.ExpFloat64() {
		n++
	}
	return n
}
