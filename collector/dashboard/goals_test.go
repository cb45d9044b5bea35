package dashboard

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

func TestGoalsAreMadeEditedAndDeletedByForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	base := "/sites/" + site.ID + "/goals"
	b := f.signedIn()
	made := b.page(base+"/new").submit(base+"/new", map[string]string{"what1": "event", "text1": "signup", "key1": "plan", "value1": "pro"})
	assert.Contains(t, made.follow().body, "signup")
	require.Len(t, f.account.Goals(site.ID), 1)
	goal := f.account.Goals(site.ID)[0]
	assert.Equal(t, account.Goal{ID: goal.ID, Site: site.ID, Name: "signup", Match: store.Match{Event: "signup", PropKey: "plan", PropValue: "pro"}}, goal)

	edit := b.page(base + "/" + goal.ID)
	assert.Contains(t, edit.body, `value="pro"`)
	edit.submit(base+"/"+goal.ID, map[string]string{"name": "Seen", "what1": "page", "text1": "/docs/*", "key1": "", "value1": ""}).follow()
	assert.Equal(t, []account.Goal{{ID: goal.ID, Site: site.ID, Name: "Seen", Match: store.Match{Page: "/docs/*"}}}, f.account.Goals(site.ID))

	b.page(base).submit(base+"/"+goal.ID+"/delete", nil).follow()
	assert.Empty(t, f.account.Goals(site.ID))
}

func TestARefusedGoalFormKeepsTheTypedText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	base := "/sites/" + site.ID + "/goals"
	a := f.signedIn().page(base+"/new").submit(base+"/new", map[string]string{"name": "Mine", "what1": "page", "text1": "docs", "value1": "x"})
	assert.Equal(t, http.StatusUnprocessableEntity, a.status)
	assert.Contains(t, a.body, "The goal has a path that does not begin with / or *")
	for _, kept := range []string{`value="Mine"`, `value="docs"`, `value="x"`} {
		assert.Contains(t, a.body, kept)
	}
	assert.Empty(t, f.account.Goals(site.ID))
}

func TestGoalsShowConversionsAndTheRateOfVisitors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	at := noon.Add(-time.Hour)
	f.add(
		viewed(site.ID, "/", at, 1), viewed(site.ID, "/", at, 2), viewed(site.ID, "/", at, 3), viewed(site.ID, "/", at, 4),
		viewed(site.ID, "/thanks", at, 1), viewed(site.ID, "/thanks", at, 1),
		happened(site.ID, "paid", at, 0), happened(site.ID, "paid", at, 0), happened(site.ID, "paid", at, 0),
	)
	for name, m := range map[string]store.Match{"Thanked": {Page: "/thanks"}, "Paid": {Event: "paid"}, "Unreached": {Event: "never"}} {
		_, err := f.account.SaveGoal(t.Context(), account.Goal{Site: site.ID, Name: name, Match: m})
		require.NoError(t, err)
	}
	body := f.signedIn().page("/sites/" + site.ID + "/goals").body
	assert.Regexp(t, `(?s)>Thanked<.*"Conversions">2<.*"Visitors">1<.*</svg>25\.0%`, body)
	assert.Regexp(t, `(?s)>Paid<[^%]*"Conversions">3<[^%]*–[^%]*count only`, body, "server events have no rate")
	assert.Regexp(t, `(?s)>Unreached<.*"Conversions">0<.*"Visitors">0<.*</svg>0%`, body)
	assert.Contains(t, body, "Server events have no visitor", "the page explains it")
}

func TestFunnelsAreMadeEditedAndDeletedByForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	base := "/sites/" + site.ID + "/funnels"
	b := f.signedIn()
	made := b.page(base+"/new").submit(base+"/new", map[string]string{
		"name": "Order", "text1": "/products/*", "text3": "/cart", "what8": "event", "text8": "paid", "key8": "plan", "value8": "pro",
	})
	assert.Contains(t, made.follow().body, "By visitor")
	require.Len(t, f.account.Funnels(site.ID), 1)
	funnel := f.account.Funnels(site.ID)[0]
	assert.Equal(t, []store.Match{{Page: "/products/*"}, {Page: "/cart"}, {Event: "paid", PropKey: "plan", PropValue: "pro"}}, funnel.Steps, "empty rows are left out")

	edit := base + "/" + funnel.ID + "/edit"
	b.page(edit).submit(edit, map[string]string{"text2": ""}).follow()
	assert.Len(t, f.account.Funnels(site.ID)[0].Steps, 2)
	assert.Contains(t, b.page(base).body, "Order")
	b.page(base+"/"+funnel.ID).submit(base+"/"+funnel.ID+"/delete", nil).follow()
	assert.Empty(t, f.account.Funnels(site.ID))
}

func TestARefusedFunnelFormKeepsTheTypedText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	base := "/sites/" + site.ID + "/funnels"
	b := f.signedIn()
	one := b.page(base+"/new").submit(base+"/new", map[string]string{"name": "Order", "text1": "/cart"})
	assert.Equal(t, http.StatusUnprocessableEntity, one.status)
	assert.Contains(t, one.body, "there are 1; a funnel has 2 to 8")
	assert.Contains(t, one.body, `value="/cart"`)
	half := b.page(base+"/new").submit(base+"/new", map[string]string{"name": "Order", "text1": "/cart", "key2": "plan"})
	assert.Contains(t, half.body, "step 2 needs a page or an event", "a half-filled row is not an empty one")
}

func TestFunnelsShowBothReadings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	at := noon.Add(-3 * time.Hour)
	for visitor := range uint64(4) {
		f.add(viewed(site.ID, "/cart", at, visitor+1))
	}
	f.add(
		viewed(site.ID, "/thanks", at.Add(time.Minute), 1),
		viewed(site.ID, "/thanks", at.Add(-time.Minute), 2), // before the cart
		happened(site.ID, "paid", at.Add(time.Hour), 0), happened(site.ID, "paid", at.Add(time.Hour), 0),
	)
	funnel, err := f.account.SaveFunnel(t.Context(), account.Funnel{Site: site.ID, Name: "Order", Steps: []store.Match{{Page: "/cart"}, {Page: "/thanks"}, {Event: "paid"}}})
	require.NoError(t, err)
	body := f.signedIn().page("/sites/" + site.ID + "/funnels/" + funnel.ID).body
	assert.Regexp(t, `(?s)By visitor.*2 matching events without a visitor.*<strong>4</strong>.*100%.*3 lost, 75\.0%.*<strong>1</strong>.*25\.0%.*<strong>0</strong>.*By count`, body)
	assert.Regexp(t, `(?s)By count.*<strong>4</strong>.*2 fewer, 50\.0%.*<strong>2</strong>.*<strong>2</strong>`, body)
	assert.Contains(t, body, "within 24 hours of their first")
}

// Events of a step without the steps before it count, too, so no visitor is lost if there are fewer.
func TestAFunnelByCountLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	at := noon.Add(-3 * time.Hour)
	f.add(happened(site.ID, "cart", at, 0), happened(site.ID, "cart", at, 0))
	for range 5 {
		f.add(happened(site.ID, "paid", at, 0))
	}
	f.add(happened(site.ID, "sent", at, 0))
	funnel, err := f.account.SaveFunnel(t.Context(), account.Funnel{Site: site.ID, Name: "Order", Steps: []store.Match{{Event: "cart"}, {Event: "paid"}, {Event: "sent"}}})
	require.NoError(t, err)
	body := between(f.signedIn().page("/sites/"+site.ID+"/funnels/"+funnel.ID).body, "By count", "</section>")
	assert.NotContains(t, body, "lost")
	assert.Regexp(t, `(?s)<strong>2</strong> <span class="muted">100%</span>.*<strong>5</strong> <span class="muted">250\.0%</span>.*4 fewer, 80\.0%.*<strong>1</strong> <span class="muted">50\.0%</span>`, body)
	assert.Contains(t, body, "Percentages beside the counts are of the first step, and can be above 100%.")
}
