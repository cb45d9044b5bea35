package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func open(t *testing.T, st store.Store) *account.Account {
	t.Helper()
	a, err := account.Open(t.Context(), st)
	require.NoError(t, err)
	return a
}

func fieldOf(t *testing.T, err error) string {
	t.Helper()
	bad, ok := errors.AsType[*account.FieldError](err)
	require.True(t, ok, "%v", err)
	return bad.Field
}

const secretWords = "correct horse battery"

func TestAccountSurvivesARestart(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	a := open(t, st)
	site, err := a.AddSite(t.Context(), "Shop", "Shop.example.com")
	require.NoError(t, err)
	secret, key, err := a.IssueKey(t.Context(), "backend")
	require.NoError(t, err)
	goal, err := a.SaveGoal(t.Context(), account.Goal{Site: site.ID, Name: "Bought", Match: store.Match{Event: "checkout_completed"}})
	require.NoError(t, err)
	funnel, err := a.SaveFunnel(t.Context(), account.Funnel{Site: site.ID, Name: "Way", Steps: []store.Match{{Page: "/"}, {Page: "/basket"}}})
	require.NoError(t, err)
	require.NoError(t, a.SetUp(t.Context(), a.SetupToken(), secretWords))
	session, _, err := a.SignIn(t.Context(), secretWords)
	require.NoError(t, err)

	b := open(t, st)
	assert.Equal(t, []account.Site{site}, b.Sites())
	assert.Equal(t, []account.Key{key}, b.Keys())
	assert.Equal(t, []account.Goal{goal}, b.Goals(site.ID))
	assert.Equal(t, []account.Funnel{funnel}, b.Funnels(site.ID))
	assert.True(t, b.Authenticate(secret))
	assert.True(t, b.HasPassword())
	assert.Empty(t, b.SetupToken())
	assert.True(t, b.SignedIn(session))
	found, ok := b.SiteOf("shop.EXAMPLE.com")
	assert.True(t, ok)
	assert.Equal(t, site.ID, found.ID)
}

func TestSiteKeepsItsIDWhenDomainAndNameChange(t *testing.T) {
	t.Parallel()
	a := open(t, storetest.NewReference())
	site, err := a.AddSite(t.Context(), "", "shop.example.com")
	require.NoError(t, err)
	assert.Equal(t, "shop.example.com", site.Name)
	changed := site
	changed.Name, changed.Domain, changed.Paused, changed.OwnPages, changed.CreatedAt = "Shop", "www.example.com", true, true, time.Time{}
	require.NoError(t, a.ChangeSite(t.Context(), changed))
	got, ok := a.Site(site.ID)
	require.True(t, ok)
	assert.Equal(t, account.Site{ID: site.ID, Name: "Shop", Domain: "www.example.com", Paused: true, OwnPages: true, CreatedAt: site.CreatedAt}, got)
	_, ok = a.SiteOf("shop.example.com")
	assert.False(t, ok, "the old domain is free")
	_, err = a.AddSite(t.Context(), "", "www.example.com")
	assert.Equal(t, "domain", fieldOf(t, err), "taken")
	assert.ErrorIs(t, a.ChangeSite(t.Context(), account.Site{ID: "site_none", Domain: "x.example.com"}), account.ErrNotFound)
}

// Sites stored by versions without the setting accept events from all domains.
func TestSitesOfEarlierVersionsTakeEventsOfAllDomains(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	old := `{"id":"site_1","name":"Shop","domain":"shop.example.com","created_at":"2026-01-02T03:04:05Z"}`
	require.NoError(t, st.Put(t.Context(), "site", store.Record{ID: "site_1", Data: []byte(old)}))
	site, ok := open(t, st).Site("site_1")
	require.True(t, ok)
	assert.False(t, site.OwnPages)
	a := open(t, st)
	require.NoError(t, a.ChangeSite(t.Context(), site))
	written, err := st.Records(t.Context(), "site")
	require.NoError(t, err)
	assert.JSONEq(t, old, string(written[0].Data), "as such a collector reads it")
	site.OwnPages = true
	require.NoError(t, a.ChangeSite(t.Context(), site))
	site, _ = open(t, st).Site("site_1")
	assert.True(t, site.OwnPages, "kept over a restart")
}

func TestDomainsMayBePastedAsURLs(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		" https://Shop.Example.com/pricing?x=1 ": "shop.example.com",
		"localhost:8080":                         "localhost:8080",
		"http://127.0.0.1:8080/":                 "127.0.0.1:8080",
		"[::1]:8080":                             "[::1]:8080",
		"xn--bcher-kva.example":                  "xn--bcher-kva.example",
	} {
		a := open(t, storetest.NewReference())
		site, err := a.AddSite(t.Context(), "", given)
		require.NoError(t, err, given)
		assert.Equal(t, want, site.Domain)
	}
	a := open(t, storetest.NewReference())
	for _, bad := range []string{"", "  ", "https://", "shop example.com", "-shop.example.com", "shop..com", "bücher.example", "shop:0", "shop:x", "shop:70000", strings.Repeat("a", 64) + ".com", "a@b.c", "<b>"} {
		_, err := a.AddSite(t.Context(), "", bad)
		assert.Equal(t, "domain", fieldOf(t, err), bad)
	}
	_, err := a.AddSite(t.Context(), strings.Repeat("é", 121), "shop.example.com")
	assert.Equal(t, "name", fieldOf(t, err))
}

func TestDeletingASiteDeletesItsEventsGoalsAndFunnels(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	a := open(t, st)
	site, _ := a.AddSite(t.Context(), "", "shop.example.com")
	other, _ := a.AddSite(t.Context(), "", "other.example.com")
	for _, s := range []account.Site{site, other} {
		_, err := a.SaveGoal(t.Context(), account.Goal{Site: s.ID, Match: store.Match{Page: "/"}})
		require.NoError(t, err)
		_, err = a.SaveFunnel(t.Context(), account.Funnel{Site: s.ID, Name: "f", Steps: []store.Match{{Page: "/"}, {Event: "x"}}})
		require.NoError(t, err)
		storetest.Add(t, st, store.Event{Site: s.ID, At: time.Now(), URL: "https://a/", Path: "/"})
	}
	require.NoError(t, a.DeleteSite(t.Context(), site.ID))
	assert.Equal(t, []account.Site{other}, a.Sites())
	assert.Empty(t, a.Goals(site.ID))
	assert.Empty(t, a.Funnels(site.ID))
	assert.Len(t, a.Goals(other.ID), 1)
	assert.Len(t, a.Funnels(other.ID), 1)
	for _, d := range a.Deletions() {
		require.NoError(t, a.FinishDeletion(t.Context(), d))
	}
	assert.Zero(t, pageviews(t, st, site.ID))
	assert.Equal(t, int64(1), pageviews(t, st, other.ID))
	assert.ErrorIs(t, a.DeleteSite(t.Context(), site.ID), account.ErrNotFound)
}

func pageviews(t *testing.T, st store.Store, site string) int64 {
	t.Helper()
	totals, err := storetest.Totals(t.Context(), st, store.Query{Site: site, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	return totals.Pageviews
}

func TestKeyWorksUntilItIsRotatedOrRevoked(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	a := open(t, st)
	assert.False(t, a.Authenticate(""), "there is no key")
	first, key, err := a.IssueKey(t.Context(), "backend")
	require.NoError(t, err)
	other, _, err := a.IssueKey(t.Context(), "")
	require.NoError(t, err)
	assert.True(t, a.Authenticate(first))
	assert.True(t, strings.HasSuffix(first, key.Hint))
	second, rotated, err := a.RotateKey(t.Context(), key.ID)
	require.NoError(t, err)
	assert.Equal(t, key.ID, rotated.ID)
	assert.Equal(t, "backend", rotated.Label)
	assert.False(t, a.Authenticate(first))
	assert.True(t, a.Authenticate(second))
	require.NoError(t, a.RevokeKey(t.Context(), key.ID))
	assert.False(t, a.Authenticate(second))
	assert.True(t, a.Authenticate(other))
	assert.ErrorIs(t, a.RevokeKey(t.Context(), key.ID), account.ErrNotFound)
	_, _, err = a.RotateKey(t.Context(), key.ID)
	assert.ErrorIs(t, err, account.ErrNotFound)
	_, _, err = a.IssueKey(t.Context(), strings.Repeat("x", 121))
	assert.Equal(t, "label", fieldOf(t, err))
}

func TestNoSecretIsStored(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	a := open(t, st)
	secret, _, err := a.IssueKey(t.Context(), "backend")
	require.NoError(t, err)
	require.NoError(t, a.SetUp(t.Context(), a.SetupToken(), secretWords))
	token, _, err := a.SignIn(t.Context(), secretWords)
	require.NoError(t, err)
	for _, kind := range []string{"site", "key", "goal", "funnel", "session", "password"} {
		records, err := st.Records(t.Context(), kind)
		require.NoError(t, err)
		for _, r := range records {
			for _, hidden := range []string{secret, secretWords, token} {
				assert.NotContains(t, r.ID+string(r.Data), hidden, kind)
			}
		}
	}
}

func TestSetupLinkWorksOnce(t *testing.T) {
	t.Parallel()
	a := open(t, storetest.NewReference())
	token := a.SetupToken()
	require.NotEmpty(t, token)
	assert.ErrorIs(t, a.SetUp(t.Context(), "wrong", secretWords), account.ErrPassword)
	assert.ErrorIs(t, a.SetUp(t.Context(), "", secretWords), account.ErrPassword)
	assert.Equal(t, "password", fieldOf(t, a.SetUp(t.Context(), token, "short")))
	require.NoError(t, a.SetUp(t.Context(), token, secretWords))
	assert.ErrorIs(t, a.SetUp(t.Context(), token, "another password"), account.ErrPassword)
	assert.ErrorIs(t, a.SetUp(t.Context(), "", "another password"), account.ErrPassword)
	_, _, err := a.SignIn(t.Context(), "another password")
	assert.ErrorIs(t, err, account.ErrPassword)
}

func TestSignInNeedsAPassword(t *testing.T) {
	t.Parallel()
	a := open(t, storetest.NewReference())
	_, _, err := a.SignIn(t.Context(), "")
	assert.ErrorIs(t, err, account.ErrPassword)
	assert.False(t, a.SignedIn(""))
}

func TestChangingThePasswordEndsAllSessions(t *testing.T) {
	t.Parallel()
	a := open(t, storetest.NewReference())
	require.NoError(t, a.SetUp(t.Context(), a.SetupToken(), secretWords))
	one, _, err := a.SignIn(t.Context(), secretWords)
	require.NoError(t, err)
	two, _, err := a.SignIn(t.Context(), secretWords)
	require.NoError(t, err)
	require.NoError(t, a.SignOut(t.Context(), one))
	assert.False(t, a.SignedIn(one))
	assert.True(t, a.SignedIn(two))
	require.NoError(t, a.SignOut(t.Context(), one), "twice is no error")
	assert.ErrorIs(t, a.ChangePassword(t.Context(), "wrong", "another password"), account.ErrPassword)
	require.NoError(t, a.ChangePassword(t.Context(), secretWords, "another password"))
	assert.False(t, a.SignedIn(two))
	_, _, err = a.SignIn(t.Context(), secretWords)
	assert.ErrorIs(t, err, account.ErrPassword)
}

func TestInvalidGoalsAndFunnelsAreRefused(t *testing.T) {
	t.Parallel()
	a := open(t, storetest.NewReference())
	site, _ := a.AddSite(t.Context(), "", "shop.example.com")
	for name, m := range map[string]store.Match{
		"nothing":                {},
		"blank event":            {Event: "  "},
		"both":                   {Page: "/", Event: "x"},
		"page without a slash":   {Page: "pricing"},
		"value without a key":    {Event: "x", PropValue: "pro"},
		"event too long":         {Event: strings.Repeat("é", 121)},
		"page too long":          {Page: "/" + strings.Repeat("a", 2048)},
		"prop key too long":      {Event: "x", PropKey: strings.Repeat("k", 301)},
		"not UTF-8":              {Event: "\xff"},
		"prop value not UTF-8":   {Event: "x", PropKey: "k", PropValue: "\xff"},
		"prop value is too long": {Event: "x", PropKey: "k", PropValue: strings.Repeat("v", 2001)},
	} {
		_, err := a.SaveGoal(t.Context(), account.Goal{Site: site.ID, Name: "g", Match: m})
		assert.Equal(t, "match", fieldOf(t, err), name)
		_, err = a.SaveFunnel(t.Context(), account.Funnel{Site: site.ID, Name: "f", Steps: []store.Match{{Page: "/"}, m}})
		assert.Equal(t, "steps", fieldOf(t, err), name)
		assert.ErrorContains(t, err, "step 2", name)
	}
	for _, n := range []int{0, 1, 9} {
		_, err := a.SaveFunnel(t.Context(), account.Funnel{Site: site.ID, Name: "f", Steps: make([]store.Match, n)})
		assert.Equal(t, "steps", fieldOf(t, err))
	}
	_, err := a.SaveFunnel(t.Context(), account.Funnel{Site: site.ID, Steps: []store.Match{{Page: "/"}, {Page: "/a"}}})
	assert.Equal(t, "name", fieldOf(t, err))
}

func TestGoalOfOneSiteCannotBeChangedThroughAnother(t *testing.T) {
	t.Parallel()
	a := open(t, storetest.NewReference())
	one, _ := a.AddSite(t.Context(), "", "one.example.com")
	two, _ := a.AddSite(t.Context(), "", "two.example.com")
	goal, err := a.SaveGoal(t.Context(), account.Goal{Site: one.ID, Match: store.Match{Page: "/"}})
	require.NoError(t, err)
	assert.Equal(t, "/", goal.Name, "a goal without a name has that of what it matches")
	goal.Site = two.ID
	_, err = a.SaveGoal(t.Context(), goal)
	assert.ErrorIs(t, err, account.ErrNotFound)
	goal.Site = "site_none"
	_, err = a.SaveGoal(t.Context(), goal)
	assert.ErrorIs(t, err, account.ErrNotFound)
}

// failing is a store whose writes fail.
type failing struct{ store.Store }

var errFull = errors.New("disk full")

func (failing) Put(context.Context, string, store.Record) error { return errFull }
func (failing) Remove(context.Context, string, string) error    { return errFull }
func (failing) Forget(context.Context, string, time.Time) error { return errFull }

func TestFailedWriteChangesNothing(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	a := open(t, st)
	site, _ := a.AddSite(t.Context(), "", "shop.example.com")
	secret, key, _ := a.IssueKey(t.Context(), "backend")
	full := open(t, failing{st})
	_, err := full.AddSite(t.Context(), "", "other.example.com")
	assert.ErrorIs(t, err, errFull)
	assert.Len(t, full.Sites(), 1)
	_, ok := full.SiteOf("other.example.com")
	assert.False(t, ok)
	assert.ErrorIs(t, full.DeleteSite(t.Context(), site.ID), errFull)
	assert.Len(t, full.Sites(), 1)
	assert.ErrorIs(t, full.RevokeKey(t.Context(), key.ID), errFull)
	assert.True(t, full.Authenticate(secret))
	_, _, err = full.RotateKey(t.Context(), key.ID)
	assert.ErrorIs(t, err, errFull)
	assert.True(t, full.Authenticate(secret))
	assert.ErrorIs(t, full.SetUp(t.Context(), full.SetupToken(), secretWords), errFull)
	assert.False(t, full.HasPassword())
}

func TestAccountMayBeUsedFromManyGoroutines(t *testing.T) {
	t.Parallel()
	a := open(t, storetest.NewReference())
	var work sync.WaitGroup
	for i := range 16 {
		work.Go(func() {
			site, err := a.AddSite(t.Context(), "", fmt.Sprintf("shop%d.example.com", i))
			assert.NoError(t, err)
			secret, key, err := a.IssueKey(t.Context(), "k")
			assert.NoError(t, err)
			_, err = a.SaveGoal(t.Context(), account.Goal{Site: site.ID, Match: store.Match{Page: "/"}})
			assert.NoError(t, err)
			assert.True(t, a.Authenticate(secret))
			a.Sites()
			a.Goals(site.ID)
			assert.NoError(t, a.RevokeKey(t.Context(), key.ID))
		})
	}
	work.Wait()
	assert.Len(t, a.Sites(), 16)
	assert.Empty(t, a.Keys())
}

// The process may end after each step of DeleteSite.
func TestADeletionThatWasBegunIsFinishedWhateverIsLeftOfTheSite(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	a := open(t, st)
	site, _ := a.AddSite(t.Context(), "", "shop.example.com")
	_, err := a.SaveGoal(t.Context(), account.Goal{Site: site.ID, Match: store.Match{Page: "/"}})
	require.NoError(t, err)
	full := open(t, keeping{st})
	require.ErrorIs(t, full.DeleteSite(t.Context(), site.ID), errFull, "the goal cannot be removed")

	b := open(t, st)
	require.Len(t, b.Sites(), 1)
	require.Len(t, b.Deletions(), 1)
	assert.Equal(t, "shop.example.com", b.Deletions()[0].Domain)
	require.NoError(t, b.FinishDeletion(t.Context(), b.Deletions()[0]))
	assert.Empty(t, b.Sites())
	assert.Empty(t, b.Goals(site.ID))
	again, err := b.AddSite(t.Context(), "", "shop.example.com")
	require.NoError(t, err)
	assert.NotEqual(t, site.ID, again.ID)
}

// keeping is a store that removes no records.
type keeping struct{ store.Store }

func (keeping) Remove(context.Context, string, string) error { return errFull }
