package dashboard

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
)

func TestADeletionUnderWayIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/", noon, 1))
	b := f.signedIn()
	assert.NotContains(t, b.page("/").body, "being removed")
	require.NoError(t, f.account.DeleteSite(t.Context(), site.ID))
	assert.Contains(t, b.page("/").body, "The events of shop.example.com are being removed.")
}

func TestASiteThatWasLostIsAddedAgainWithItsEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(viewed("site_lost", "/", noon, 1), viewed("site_lost", "/", noon, 2), viewed("site_left", "/", noon, 3))
	b := f.signedIn()
	assert.NotContains(t, b.page("/").body, "site_lost")
	_, err := f.account.FindOrphans(t.Context())
	require.NoError(t, err)
	sites := b.page("/")
	assert.Contains(t, sites.body, "2 events of <code>site_lost</code>, a site that does not exist, will be removed after "+
		time.Now().UTC().AddDate(0, 0, 7).Format("2 January 2006"))
	assert.Less(t, strings.Index(sites.body, "site_lost"), strings.Index(sites.body, "No sites yet"), "the warning comes first")
	const form = "/sites/new?events=site_lost"
	require.Contains(t, sites.body, `href="`+form+`"`)
	assert.Contains(t, b.page(form).body, `name="domain" type="text" value="shop.example.com"`)
	assert.Equal(t, http.StatusNotFound, b.get("/sites/new?events=site_unknown").status)
	wrong := b.page(form).submit("/sites/new", map[string]string{"domain": "not a domain"})
	assert.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	wrong.submit("/sites/new", map[string]string{"domain": "shop.example.com"}).follow()
	site, found := f.account.SiteOf("shop.example.com")
	require.True(t, found)
	assert.Equal(t, "site_lost", site.ID)
	after := b.page("/").body
	assert.NotContains(t, after, "site_lost</code>")
	assert.Contains(t, after, "1 event of <code>site_left</code>")
}

func TestSitesAreAddedRenamedPausedAndDeletedByForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.signedIn()
	added := b.page("/sites/new").submit("/sites/new", map[string]string{"name": "Shop", "domain": "https://Shop.example.com/"}).follow()
	assert.Contains(t, added.body, "The site was added")
	require.Len(t, f.account.Sites(), 1)
	site := f.account.Sites()[0]
	assert.Equal(t, "shop.example.com", site.Domain)

	settings := "/sites/" + site.ID + "/settings"
	moved := b.page(settings).submit(settings, map[string]string{"name": "The shop", "domain": "www.example.com", "paused": "yes"}).follow()
	assert.Contains(t, moved.body, "Saved.")
	changed, _ := f.account.Site(site.ID)
	assert.Equal(t, []any{site.ID, "The shop", "www.example.com", true}, []any{changed.ID, changed.Name, changed.Domain, changed.Paused})
	assert.Contains(t, b.page("/").body, "Paused")
	assert.Contains(t, moved.body, `&#34;site_id&#34;: &#34;`+site.ID+`&#34;`, "the example request has the site's id")

	deletion := "/sites/" + site.ID + "/delete"
	typo := b.page(deletion).submit(deletion, map[string]string{"domain": "www.example.org"})
	assert.Equal(t, http.StatusUnprocessableEntity, typo.status)
	assert.Contains(t, typo.body, `value="www.example.org"`)
	require.Len(t, f.account.Sites(), 1, "a slip deletes nothing")
	assert.Contains(t, typo.submit(deletion, map[string]string{"domain": "www.example.com"}).follow().body, "Deleted.")
	assert.Empty(t, f.account.Sites())
}

func TestTheAPIAcceptsTheExampleRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	page := html.UnescapeString(f.signedIn().page("/sites/" + site.ID + "/settings").body)
	assert.Contains(t, page, "curl https://stats.example.com/v1/events \\\n")
	var event map[string]any
	require.NoError(t, json.Unmarshal([]byte(between(page, "-d '", "'")), &event))
	assert.Equal(t, map[string]any{
		"site_id": site.ID, "name": "signup", "url": "https://shop.example.com/signup", "props": map[string]any{"plan": "pro"},
	}, event)
}

func TestUncheckingPausedResumesASite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	site.Paused = true
	require.NoError(t, f.account.ChangeSite(t.Context(), site))
	settings := "/sites/" + site.ID + "/settings"
	b := f.signedIn()
	assert.Contains(t, b.page(settings).body, " checked")
	b.page(settings).submit(settings, map[string]string{"paused": ""}).follow()
	resumed, _ := f.account.Site(site.ID)
	assert.False(t, resumed.Paused)
}

func TestTheFormOfASiteSaysWhetherEventsOfOtherDomainsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	settings := "/sites/" + site.ID + "/settings"
	b := f.signedIn()
	checked := func() (form, kept bool) {
		site, _ := f.account.Site(site.ID)
		box := between(b.page(settings).body, `<input id="ownpages"`, ">")
		return strings.Contains(box, " checked"), site.OwnPages
	}
	for _, want := range []bool{false, true, false} {
		if want {
			b.page(settings).submit(settings, map[string]string{"ownpages": "yes"}).follow()
		} else {
			b.page(settings).submit(settings, map[string]string{"ownpages": ""}).follow()
		}
		form, kept := checked()
		assert.Equal(t, []bool{want, want}, []bool{form, kept})
	}
	b.page(settings).submit(settings, map[string]string{"ownpages": "yes"}).follow()
	b.page(settings).submit(settings, map[string]string{"name": "Another"}).follow()
	_, kept := checked()
	assert.True(t, kept, "a change of another field leaves it on")
	refused := b.page(settings).submit(settings, map[string]string{"domain": "not a host"})
	assert.Contains(t, between(refused.body, `<input id="ownpages"`, ">"), " checked", "a refused form keeps what was ticked")
}

func TestRefusedFormsNameTheFieldAndKeepTheTypedText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.site("Other", "taken.example.com")
	b := f.signedIn()
	for typed, problem := range map[string]string{
		"":                  "Domain is empty",
		"not a host":        "Domain must be a host name",
		"taken.example.com": "Domain belongs to another site",
	} {
		a := b.page("/sites/new").submit("/sites/new", map[string]string{"name": "My <b>site", "domain": typed})
		assert.Equal(t, http.StatusUnprocessableEntity, a.status, typed)
		assert.Contains(t, a.body, problem)
		assert.Contains(t, a.body, `value="`+typed+`"`)
		assert.Contains(t, a.body, `value="My &lt;b&gt;site"`)
		assert.Equal(t, 1, strings.Count(a.body, `aria-invalid="true"`))
	}
	a := b.page("/keys").submit("/keys", map[string]string{"label": strings.Repeat("x", 121)})
	assert.Contains(t, a.body, "Name is longer than 120 characters")
}

func TestListOfSitesShowsTodaysFigures(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.site("Still", "still.example.com")
	f.add(
		viewed(site.ID, "/", noon.Add(-time.Hour), 1), viewed(site.ID, "/cart", noon.Add(-time.Hour), 1),
		viewed(site.ID, "/", noon.Add(-time.Hour), 2), happened(site.ID, "paid", noon.Add(-time.Minute), 0),
		viewed(site.ID, "/", noon.AddDate(0, 0, -1), 3), // yesterday
	)
	b := f.signedIn()
	body := b.page("/").body
	assert.Regexp(t, `(?s)Shop</a>.*<dt>Visitors</dt><dd>2</dd>.*<dt>Pageviews</dt><dd>3</dd>.*<dt>Events</dt><dd>1</dd>`, body)
	assert.Contains(t, body, "4 pageviews and 1 event in 30 days")
	assert.Contains(t, b.page("/?days=7").body, "4 pageviews and 1 event in 7 days")
	assert.Contains(t, body, "Active today")
	assert.Contains(t, body, "No events yet")
}

func TestListOfSitesShowsTheFiguresThatASiteHas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	backend, mixed := f.site("Billing", "billing.example.com"), f.site("Shop", "shop.example.com")
	clicks, former := f.site("Widget", "widget.example.com"), f.site("Former", "former.example.com")
	earlier, yesterday := noon.Add(-time.Hour), noon.AddDate(0, 0, -1)
	for _, at := range []time.Time{yesterday, earlier} {
		f.add(happened(backend.ID, "paid", at, 0), happened(mixed.ID, "paid", at, 0))
	}
	f.add(viewed(mixed.ID, "/", earlier, 1), happened(clicks.ID, "clicked", earlier, 1))
	f.add(viewed(former.ID, "/", yesterday, 1), happened(former.ID, "paid", earlier, 0))
	body := f.signedIn().page("/").body
	for name, want := range map[string][]string{
		"Billing": {`aria-label="2 events in 30 days"`, "Events 1"},
		"Shop":    {`aria-label="1 pageview and 2 events in 30 days"`, "Visitors 1", "Pageviews 1", "Events 1"},
		"Widget":  {`aria-label="1 event in 30 days"`, "Visitors 1", "Events 1"},
		"Former":  {`aria-label="1 pageview and 1 event in 30 days"`, "Visitors 0", "Pageviews 0", "Events 1"},
	} {
		card := between(body, name+"</a>", "</li>")
		got := []string{regexp.MustCompile(`aria-label="[^"]* days"`).FindString(card)}
		for _, figure := range regexp.MustCompile(`<dt>(.*?)</dt><dd>(.*?)</dd>`).FindAllStringSubmatch(card, -1) {
			got = append(got, figure[1]+" "+figure[2])
		}
		assert.Equal(t, want, got, name)
	}
}

func TestKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.signedIn()
	secret := regexp.MustCompile(`ffk_[a-z0-9]{26}`)
	issued := b.page("/keys").submit("/keys", map[string]string{"label": "shop backend"})
	first := secret.FindString(issued.body)
	assert.True(t, f.account.Authenticate(first))
	assert.Equal(t, "no-store", issued.header.Get("Cache-Control"))
	for _, path := range b.walk(func(a answer) { assert.NotRegexp(t, secret, a.body, a.path) }) {
		assert.NotRegexp(t, secret, path)
	}

	rotate := "/keys/" + f.account.Keys()[0].ID + "/rotate"
	rotated := b.page("/keys").submit(rotate, nil)
	second := secret.FindString(rotated.body)
	assert.NotEqual(t, first, second)
	assert.False(t, f.account.Authenticate(first))
	assert.True(t, f.account.Authenticate(second))
	assert.NotRegexp(t, secret, b.page("/keys").body)

	revoked := b.page("/keys").submit(strings.Replace(rotate, "rotate", "revoke", 1), nil)
	assert.Contains(t, revoked.follow().body, "The key was revoked")
	assert.False(t, f.account.Authenticate(second))
}

// Keys without a name have the same one: what revokes a key also names the end of its secret.
func TestKeysOfTheSameNameAreToldApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.signedIn()
	for range 2 {
		b.page("/keys").submit("/keys", map[string]string{"label": ""})
	}
	body := b.page("/keys").body
	for _, key := range f.account.Keys() {
		assert.Contains(t, body, "Revoke unnamed (…"+key.Hint+")")
		assert.Contains(t, body, "Rotate unnamed (…"+key.Hint+")")
	}
}

func TestGoalsAndFunnelsAreReachedThroughTheirSiteOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.furnish()
	other := f.site("Other", "other.example.com")
	goal, funnel := f.account.Goals(site.ID)[0], f.account.Funnels(site.ID)[0]
	b := f.signedIn()
	for _, path := range []string{"/goals/" + goal.ID, "/funnels/" + funnel.ID, "/funnels/" + funnel.ID + "/edit"} {
		assert.Equal(t, http.StatusNotFound, b.get("/sites/"+other.ID+path).status, path)
	}
	assert.Equal(t, http.StatusNotFound, b.get("/sites/"+site.ID+"/goals/goal_none").status)
	assert.Equal(t, http.StatusNotFound, b.get("/sites/"+site.ID+"/funnels/funnel_none").status)
	assert.Equal(t, http.StatusNotFound, b.post("/sites/"+other.ID+"/goals/"+goal.ID+"/delete", nil).status)
	assert.Equal(t, http.StatusNotFound, b.post("/sites/"+other.ID+"/funnels/"+funnel.ID+"/delete", nil).status)
	assert.Len(t, f.account.Goals(site.ID), 1)
	assert.Len(t, f.account.Funnels(site.ID), 1)
}

func TestDeletePageListsWhatIsDeletedWithTheSite(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]siteForm{
		"All of its events":                       {},
		"All of its events and 1 goal":            {Goals: 1},
		"All of its events and 2 funnels":         {Funnels: 2},
		"All of its events, 3 goals and 1 funnel": {Goals: 3, Funnels: 1},
	} {
		assert.Equal(t, want, f.Losses())
	}
}

func TestKeyForStatsIsIssuedByTheForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	issued := f.signedIn().page("/keys").submit("/keys", map[string]string{"label": "spreadsheet", "scope": "stats"})
	keys := f.account.Keys()
	require.Len(t, keys, 1)
	assert.Equal(t, account.ScopeStats, keys[0].Scope)
	assert.Contains(t, issued.body, `<td data-label="For">stats</td>`)
	assert.Contains(t, issued.body, "FOOTFALL_API_KEY=YOUR_API_KEY", "the lines for events do not have this key")
}
