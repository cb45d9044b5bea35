//go:build ci

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// office is a service with one site, and the owner at a browser.
type office struct {
	*browser
	*service
	site    account.Site
	scripts bool // JavaScript is on
}

// steps returns the events of three visitors of the site: the first takes all steps, the
// second three steps, and the third the second step before the first. A server sends two
// payments.
func steps(site string) (all []store.Event) {
	at := time.Now().Add(-time.Hour)
	add := func(visitor uint64, name, path string, props ...store.Prop) {
		at = at.Add(time.Second)
		all = append(all, store.Event{Site: site, At: at, Name: name, URL: "https://shop.example.com" + path, Path: path, Visitor: visitor, Props: props})
	}
	for n := range 7 {
		add(1, "", fmt.Sprint("/step/", n+1))
	}
	pro := store.Prop{Key: "plan", Value: "pro"}
	add(1, "paid", "/step/8", pro)
	add(2, "", "/step/1")
	add(2, "", "/step/2")
	add(2, "", "/step/3")
	add(3, "", "/step/2")
	add(3, "", "/step/1")
	add(0, "paid", "/step/8", pro)
	add(0, "paid", "/step/8", store.Prop{Key: "plan", Value: "basic"})
	return all
}

// inTheOffice runs a test with JavaScript and without.
func inTheOffice(t *testing.T, test func(*testing.T, *office)) {
	for name, scripts := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			o := &office{scripts: scripts}
			o.service = startService(t, func(st store.Store, a *account.Account) {
				owned(t, a)
				o.site = addSite(t, a, "The shop", "shop.example.com")
				addAll(t, st, steps(o.site.ID))
			})
			o.browser = openBrowser(t) // opened after the service, so that it is closed first: a live page complains about a closed service
			if !scripts {
				o.withoutScripts()
			}
			o.signInTo(o.service)
			test(t, o)
		})
	}
}

// match fills in one step of a funnel, or the condition of a goal.
func (b *browser) match(n int, kind, text, key, value string) {
	b.t.Helper()
	b.choose(fmt.Sprint("what", n), kind)
	b.refill(fmt.Sprint("text", n), text)
	b.refill(fmt.Sprint("key", n), key)
	b.refill(fmt.Sprint("value", n), value)
}

func TestFunnelsOfTwoAndEightStepsAreMadeByClicking(t *testing.T) {
	inTheOffice(t, func(t *testing.T, o *office) {
		o.press("The shop")
		o.press("Funnels")
		o.press("Add the first funnel")
		o.fill("name", "All the way")
		o.unfold("More steps")
		for n := range 7 {
			o.match(n+1, "page", fmt.Sprint("/step/", n+1), "", "")
		}
		o.match(8, "event", "paid", "", "")
		o.press("Save")
		assert.Equal(t, []string{"3", "2", "2", "1", "1", "1", "1", "1"}, o.figures("by-visitor"))
		assert.Equal(t, []string{"3", "3", "2", "1", "1", "1", "1", "3"}, o.figures("by-count"))
		o.shows(`Left out: 2 matching events without a visitor`, `33\.3%`, `1 lost, 50\.0%`)

		o.press("Edit")
		o.refill("name", "The end of it")
		o.match(1, "page", "/step/*", "", "")
		o.match(2, "event", "paid", "plan", "pro")
		for n := 3; n <= 8; n++ {
			o.match(n, "page", "", "", "")
		}
		o.press("Save")
		assert.Equal(t, []string{"3", "1"}, o.figures("by-visitor"))
		assert.Equal(t, []string{"12", "2"}, o.figures("by-count"))
		o.shows(`The end of it`, `Left out: 1 matching event without a visitor`)

		o.press("← Funnels")
		o.press("The end of it")
		o.unfold("Delete")
		o.press("Delete The end of it")
		o.shows(`Deleted\.`, `Add the first funnel`)
	})
}

// figures returns the figures of the steps in one of a funnel's two readings.
func (o *office) figures(reading string) []string {
	o.t.Helper()
	return eval[[]string](o.browser, `[...document.querySelectorAll(".`+reading+` .step strong")].map(e => e.textContent)`)
}

func TestGoalWithAPropIsMadeByClicking(t *testing.T) {
	inTheOffice(t, func(t *testing.T, o *office) {
		o.press("The shop")
		o.press("Goals")
		o.press("Add the first goal")
		o.fill("name", "Took the big one")
		o.match(1, "event", "paid", "plan", "pro")
		o.press("Save")
		o.shows(`Took the big one\s+Event paid with plan = pro\s+2\s+1\s+33\.3%`)
		o.press("Edit Took the big one")
		o.refill("name", "")
		o.match(1, "page", "/step/1", "", "")
		o.press("Save")
		o.shows(`/step/1\s+Page /step/1\s+3\s+3\s+100%`)
		o.unfold("Delete")
		o.press("Delete /step/1")
		o.shows(`Deleted\.`, `Add the first goal`)
	})
}

func TestSitesAreAddedRenamedPausedAndDeletedByClicking(t *testing.T) {
	inTheOffice(t, func(t *testing.T, o *office) {
		o.press("Add a site")
		o.fill("domain", "https://blog.example.com/about")
		o.fill("name", "The blog")
		o.press("Add the site")
		o.shows(`The site was added`, `Waiting for the first event`, `data-site="blog\.example\.com"`)
		before, ok := o.account.SiteOf("blog.example.com")
		require.True(t, ok)

		o.press("Settings")
		o.refill("name", "The journal")
		o.refill("domain", "journal.example.com")
		o.tick("Paused")
		o.press("Save")
		o.shows(`Saved`, `The journal`, `data-site="journal\.example\.com"`)
		after, ok := o.account.Site(before.ID)
		require.True(t, ok, "the id stays")
		assert.True(t, after.Paused)
		assert.Equal(t, "journal.example.com", after.Domain)
		o.press("Sites")
		o.shows(`The journal\s+journal\.example\.com\s*·\s*Paused`)

		o.press("The journal")
		o.press("Settings")
		o.tick("Paused")
		o.press("Save")
		after, _ = o.account.Site(before.ID)
		assert.False(t, after.Paused)
		o.press("Delete the site…")
		o.fill("domain", "blog.example.com")
		o.press("Delete for good")
		o.shows(`Domain is not journal\.example\.com`)
		o.console.expect("status of 422")
		o.refill("domain", "journal.example.com")
		o.press("Delete for good")
		o.shows(`Deleted`, `The shop`)
		_, ok = o.account.Site(before.ID)
		assert.False(t, ok)
	})
}

func TestKeysAreIssuedRotatedAndRevokedByClicking(t *testing.T) {
	inTheOffice(t, func(t *testing.T, o *office) {
		o.press("API keys")
		o.fill("label", "the till")
		o.press("Issue a key")
		first := o.secret()
		assert.Equal(t, http.StatusAccepted, o.send(first))
		o.press("API keys")
		assert.NotContains(t, o.text(), first, "it is shown once")

		o.unfold("Rotate")
		o.press("Rotate the till (…" + first[len(first)-4:] + ")")
		second := o.secret()
		assert.NotEqual(t, first, second)
		assert.Equal(t, http.StatusUnauthorized, o.send(first))
		assert.Equal(t, http.StatusAccepted, o.send(second))

		o.unfold("Revoke")
		o.press("Revoke the till (…" + second[len(second)-4:] + ")")
		o.shows(`The key was revoked`, `There are no keys yet`)
		assert.Equal(t, http.StatusUnauthorized, o.send(second))
	})
}

// secret returns the new key as the page shows it.
func (o *office) secret() string {
	o.t.Helper()
	secret := eval[string](o.browser, `document.querySelector(".fresh code").textContent`)
	require.NotEmpty(o.t, secret)
	return secret
}

// send posts an event with a key, and returns the status of the answer.
func (o *office) send(key string) int {
	o.t.Helper()
	body := strings.NewReader(`{"site_id":"` + o.site.ID + `","name":"paid","url":"https://shop.example.com/"}`)
	r, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.url+"/v1/events", body)
	require.NoError(o.t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(o.t, err)
	require.NoError(o.t, answer.Body.Close())
	return answer.StatusCode
}

func TestPasswordIsChangedByClicking(t *testing.T) {
	inTheOffice(t, func(t *testing.T, o *office) {
		o.press("Password")
		o.fill("old", password)
		o.fill("password", "another one for tests")
		o.press("Change the password")
		o.shows(`The password was changed`)
		o.press("Sign out")
		o.shows(`You are signed out`)
		o.open(o.url + "/sites/" + o.site.ID + "/goals")
		o.fill("password", "another one for tests")
		o.press("Sign in")
		o.shows(`What should happen here\?`)
	})
}

func TestFoldedPartsOpenWithoutJavaScript(t *testing.T) {
	inTheOffice(t, func(t *testing.T, o *office) {
		o.press("The shop")
		o.unfold("Figures as a table")
		assert.Regexp(t, `Visitors\s+Pageviews\s+Events`, o.text())
		o.unfold("More")
		o.click(`.typed button`)
		assert.Contains(t, run(o.browser, location), "range=custom&from=")
		o.press("Live")
		o.shows(`paid\s+/step/8\s+plan: basic`, map[bool]string{true: `Watching`, false: `Reload`}[o.scripts])
	})
}
