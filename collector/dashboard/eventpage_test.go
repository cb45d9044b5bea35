package dashboard

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// paid returns an event with an amount in a currency.
func paid(site account.Site, amount string, numeric bool, currency ...string) store.Event {
	e := happened(site.ID, "paid", noon, 0, "amount", amount)
	e.Props[0].Numeric = numeric
	for _, c := range currency {
		e.Props = append(e.Props, store.Prop{Key: "currency", Value: c})
	}
	return e
}

// pageOfPaid returns the text of the page of the events.
func pageOfPaid(t *testing.T, events func(account.Site) []store.Event) string {
	t.Helper()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(events(site)...)
	return html.UnescapeString(f.signedIn().page("/sites/" + site.ID + "/events?name=paid").body)
}

// The question is how many orders the newsletter led to, and for how much.
func TestAnEventIsAddedUpBySourceCampaignAndProp(t *testing.T) {
	t.Parallel()
	came := func(e store.Event, source, campaign, landing string, items int) store.Event {
		e.Source, e.Campaign = source, campaign
		e.Props = append(e.Props, store.Prop{Key: "landing", Value: landing}, store.Prop{Key: "items", Value: strconv.Itoa(items), Numeric: true})
		return e
	}
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(came(paid(site, "4190", true), "newsletter", "autumn", "/", 2), came(paid(site, "1000", true), "newsletter", "autumn", "/sale", 1),
		came(paid(site, "500", true), "ads", "", "/sale", 1), came(paid(site, "70", true), "", "", "/", 4))
	path := "/sites/" + site.ID + "/events?name=paid&range=today"
	row := func(text, count, sum string) string {
		return regexp.QuoteMeta(text) + `</th><td class="n">` + count + `</td><td class="n">` + sum + `</td>\s*</tr>\s*`
	}
	text := regexp.MustCompile(`<svg.*?</svg>|<tr><th scope="row">|<span[^>]*>|</span>|<a[^>]*>|</a>|<details class="rowmenu">.*?</details>`)
	body := text.ReplaceAllString(f.signedIn().page(path).body, "")
	assert.Regexp(t, `>Sources</h2>(?s:.*?)Sum of amount</th></tr></thead>\s*<tbody>\s*`+row("newsletter", "2", "5,190")+row("ads", "1", "500")+row("None", "1", "70")+`</tbody>`, body)
	assert.Regexp(t, `>UTM campaigns</h2>(?s:.*?)<tbody>\s*`+row("autumn", "2", "5,190")+row("None", "2", "570")+`</tbody>`, body)
	assert.NotContains(t, body, ">UTM mediums</h2>", "there are none")
	assert.Regexp(t, `>landing</h2>(?s:.*?)<tbody>\s*`+row("/", "2", "4,260")+row("/sale", "2", "1,500")+`</tbody>`, body)

	body = f.signedIn().page(path + "&sum=items").body
	assert.Contains(t, body, `<input type="hidden" name="sum" value="items">`, "other ranges have the same sums")
	body = text.ReplaceAllString(body, "")
	assert.Regexp(t, `>Sources</h2>(?s:.*?)Sum of items</th></tr></thead>\s*<tbody>\s*`+row("newsletter", "2", "3"), body)
}

func TestAnEventWithoutNumbersIsCountedBySource(t *testing.T) {
	t.Parallel()
	body := pageOfPaid(t, func(site account.Site) []store.Event {
		e := paid(site, "text", false)
		e.Source = "newsletter"
		return []store.Event{e, paid(site, "text", false)}
	})
	assert.Contains(t, body, ">Sources</h2>")
	assert.NotContains(t, body, "Sum of")
	assert.NotContains(t, body, "sum=")
}

// failing is a store whose breakdowns fail.
type failing struct {
	store.Store
	breakdown func(context.Context) error
}

func (s failing) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	if questions[0].Number == "" {
		return s.Store.Ask(ctx, q, questions...)
	}
	return nil, s.breakdown(ctx)
}

func TestThePageOfAnEventDoesNotWaitForTooLargeABreakdown(t *testing.T) {
	t.Parallel()
	for name, breakdown := range map[string]func(context.Context) error{
		"too slow":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"too large": func(context.Context) error { return fmt.Errorf("sums: %w", store.ErrTooLarge) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureWith(t, func(c *Config) { c.Store = failing{c.Store, breakdown} })
			site := f.site("Shop", "shop.example.com")
			f.add(paid(site, "100", true))
			body := f.signedIn().page("/sites/" + site.ID + "/events?name=paid").body
			assert.Contains(t, body, "Sum of amount")
			assert.Contains(t, body, "too many events to show their sources and campaigns")
		})
	}
}

const differ = "These events have different currencies, and their sums and averages add up all of them: "

func TestASumSaysHowManyEventsHaveNoNumber(t *testing.T) {
	t.Parallel()
	body := pageOfPaid(t, func(site account.Site) []store.Event {
		return []store.Event{
			paid(site, "100", true, "EUR"), paid(site, "10000", true, "JPY"), paid(site, "49.90", false, "EUR"), happened(site.ID, "paid", noon, 0),
		}
	})
	assert.Regexp(t, `(?s)Sum of amount</span></dt><dd class="big">10,100</dd><dd class="change">5,050 on average of 2 events; 2 events have no number<`, body)
	assert.Regexp(t, `(?s)>amount</th><td .*data-label="Events">2</td><td class="n" data-label="Without a number">2</td>`, body)
	assert.Contains(t, body, differ+"EUR (2 events), JPY (1 event).")

	body = pageOfPaid(t, func(site account.Site) []store.Event {
		return []store.Event{paid(site, "100", true), paid(site, "200", true), paid(site, "text", false)}
	})
	assert.Contains(t, body, ">150 on average of 2 events; 1 event has no number<")

	body = pageOfPaid(t, func(site account.Site) []store.Event { return []store.Event{paid(site, "100", true)} })
	assert.Contains(t, body, ">100 on average<", "there is nothing to say")
	assert.Contains(t, body, `data-label="Without a number">0<`)
}

func TestSumsOfSeveralCurrenciesHaveAWarning(t *testing.T) {
	t.Parallel()
	many := func(site account.Site) (all []store.Event) {
		for i := range 25 {
			all = append(all, paid(site, "1", true, fmt.Sprintf("X%02d", i)))
		}
		return all
	}
	for name, row := range map[string]struct {
		events func(account.Site) []store.Event
		want   string // after differ; "" for no warning
	}{
		"one currency": {func(s account.Site) []store.Event {
			return []store.Event{paid(s, "1", true, "EUR"), paid(s, "2", true, "EUR")}
		}, ""},
		"one in two spellings": {func(s account.Site) []store.Event {
			return []store.Event{paid(s, "1", true, "EUR"), paid(s, "2", true, " eur")}
		}, ""},
		"one, and events without": {func(s account.Site) []store.Event {
			return []store.Event{paid(s, "1", true, "EUR"), paid(s, "2", true), paid(s, "2", true, "")}
		}, ""},
		"two, one in two spellings": {func(s account.Site) []store.Event {
			return []store.Event{paid(s, "1", true, "EUR"), paid(s, "2", true, "JPY"), paid(s, "2", true, "jpy"), paid(s, "2", true, "JPY")}
		}, "JPY (3 events), EUR (1 event)."},
		"more than the page shows": {many, "X00 (1 event), "},
		"no numbers": {func(s account.Site) []store.Event {
			return []store.Event{paid(s, "1", false, "EUR"), paid(s, "2", false, "JPY")}
		}, ""},
		"the key in another case": {func(s account.Site) []store.Event {
			a, b := paid(s, "1", true, "EUR"), paid(s, "2", true, "JPY")
			a.Props[1].Key, b.Props[1].Key = "Currency", "Currency"
			return []store.Event{a, b}
		}, "EUR (1 event), JPY (1 event)."},
		"another prop": {func(s account.Site) []store.Event {
			a, b := paid(s, "1", true, "EUR"), paid(s, "2", true, "JPY")
			a.Props[1].Key, b.Props[1].Key = "plan", "plan"
			return []store.Event{a, b}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := pageOfPaid(t, row.events)
			if row.want == "" {
				assert.NotContains(t, body, "different currencies")
			} else {
				assert.Contains(t, body, differ+row.want)
			}
		})
	}
	assert.Contains(t, pageOfPaid(t, many), "X19 (1 event), and 5 more.")
}
