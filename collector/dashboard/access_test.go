package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// broken fails all reports.
type broken struct{ store.Store }

func (broken) Ask(context.Context, store.Query, ...store.Question) ([]store.Answer, error) {
	return nil, errors.New("the disk is gone")
}

func TestPagesRequireASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.furnish()
	owner, stranger := f.signedIn(), f.browser()
	var forms []string
	paths := owner.walk(func(a answer) {
		for _, form := range tagForm.FindAllString(a.body, -1) {
			if at := attrs(form[:strings.Index(form, ">")]); at["method"] == "post" {
				forms = append(forms, at["action"])
			}
		}
	})
	paths = append(paths, "/sites/"+site.ID+"/live/stream", "/sites/"+site.ID+"/export.csv")
	for _, path := range paths {
		if strings.HasPrefix(path, "/assets/") || strings.HasPrefix(path, "/login") || strings.HasPrefix(path, "/setup") {
			continue
		}
		a := stranger.get(path)
		assert.Equal(t, http.StatusSeeOther, a.status, path)
		assert.Regexp(t, `^/login(\?|$)`, a.header.Get("Location"), path)
		assert.Less(t, len(a.body), 4000, path)
	}
	for _, action := range forms {
		if action != "/login" && action != "/logout" && action != "/setup" {
			assert.Equal(t, "/login", stranger.post(action, url.Values{"domain": {site.Domain}}).header.Get("Location"), action)
		}
	}
	assert.Greater(t, len(forms), 10)
	assert.Len(t, f.account.Sites(), 2, "nothing was deleted")
	assert.Len(t, f.account.Keys(), 1)
}

func TestAForgedCookieIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.browser().request(t.Context(), http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: "footfall_session", Value: "abcdefghijklmnopqrstuvwxyz"})
	assert.Equal(t, "/login", f.browser().do(r).header.Get("Location"))
}

func TestSessionCookieIsKeptFromScriptsAndOtherSites(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"HTTP": false, "HTTPS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureWith(t, func(c *Config) { c.Secure = secure })
			a := f.browser().post("/login", url.Values{"password": {thePassword}})
			cookies := (&http.Response{Header: a.header}).Cookies()
			require.Len(t, cookies, 2, "the session cookie and the browser cookie")
			for _, c := range cookies {
				assert.True(t, c.HttpOnly)
				assert.Equal(t, http.SameSiteLaxMode, c.SameSite)
				assert.Equal(t, "/", c.Path)
				assert.Empty(t, c.Domain)
				assert.Equal(t, secure, c.Secure)
				assert.Equal(t, secure, strings.HasPrefix(c.Name, "__Host-"))
			}
		})
	}
}

func TestSigningOutEndsTheSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.signedIn()
	kept := b.client.Jar.Cookies(b.request(t.Context(), http.MethodGet, "/", nil).URL)
	require.Len(t, kept, 2)
	assert.Contains(t, b.page("/").submit("/logout", nil).follow().body, "You are signed out")
	r := b.request(t.Context(), http.MethodGet, "/", nil)
	for _, c := range kept {
		r.AddCookie(c)
	}
	assert.Equal(t, "/login", f.browser().do(r).header.Get("Location"), "copied cookies are worth nothing")
}

func TestSigningInRedirectsToThisHostOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.browser()
	login := b.get(b.get("/keys").header.Get("Location"))
	assert.Equal(t, "/keys", login.submit("/login", map[string]string{"password": thePassword}).header.Get("Location"))
	for _, next := range []string{
		"//evil.example", "https://evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "", "keys", "/\t/evil.example", "///evil.example",
	} {
		assert.Equal(t, "/", nextPath(next), next)
	}
	assert.Equal(t, "/sites/x?range=7d", nextPath("/sites/x?range=7d"))
}

func TestCrossOriginPostsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("shop", "shop.example.com")
	b := f.signedIn()
	for name, header := range map[string][2]string{
		"Sec-Fetch-Site": {"Sec-Fetch-Site", "cross-site"},
		"same site":      {"Sec-Fetch-Site", "same-site"},
		"Origin":         {"Origin", "https://evil.example"},
		"null origin":    {"Origin", "null"},
	} {
		r := b.request(t.Context(), http.MethodPost, "/sites/"+site.ID+"/delete", strings.NewReader("domain=shop.example.com"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header[0], header[1])
		a := b.do(r)
		assert.Equal(t, http.StatusForbidden, a.status, name)
		assert.Contains(t, a.body, "This request came from another site", name)
	}
	assert.Len(t, f.account.Sites(), 1)
}

func TestFormsBehindAProxyAreAcceptedFromThePublicAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.browser().request(t.Context(), http.MethodPost, "/login", strings.NewReader("password=wrong"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "https://stats.example.com") // the proxy replaced Host
	assert.Equal(t, http.StatusUnauthorized, f.browser().do(r).status)
}

func TestSignInsAreRateLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.browser()
	for range 5 {
		assert.Equal(t, http.StatusUnauthorized, b.post("/login", url.Values{"password": {"wrong"}}).status)
	}
	a := b.post("/login", url.Values{"password": {thePassword}})
	assert.Equal(t, http.StatusTooManyRequests, a.status)
	sessions, err := f.store.Records(t.Context(), "session")
	require.NoError(t, err)
	assert.Empty(t, sessions, "the right one is not even looked at")
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(t, err)
	assert.Equal(t, 12, wait)
	assert.Contains(t, a.body, "Too many attempts")
}

func TestSignInsAreRateLimitedPerClientAndForAll(t *testing.T) {
	t.Parallel()
	var client atomic.Pointer[netip.Addr]
	f := newFixtureWith(t, func(c *Config) { c.Client = func(*http.Request) netip.Addr { return *client.Load() } })
	b := f.browser()
	statuses := map[int]int{}
	for i := range 40 {
		addr := netip.AddrFrom4([4]byte{203, 0, byte(i), 1})
		client.Store(&addr)
		statuses[b.post("/login", url.Values{"password": {"wrong"}}).status]++
	}
	assert.Equal(t, map[int]int{http.StatusUnauthorized: 20, http.StatusTooManyRequests: 20}, statuses)
}

func TestBrowserThatSignedInBeforeIsNotLockedOutByOthers(t *testing.T) {
	t.Parallel()
	var client atomic.Pointer[netip.Addr]
	f := newFixtureWith(t, func(c *Config) { c.Client = func(*http.Request) netip.Addr { return *client.Load() } })
	home := netip.MustParseAddr("192.0.2.7")
	client.Store(&home)
	owner, attacker := f.signedIn(), f.browser()
	owner.page("/").submit("/logout", nil)
	for i := range 40 {
		addr := netip.AddrFrom4([4]byte{203, 0, byte(i), 1})
		client.Store(&addr)
		attacker.post("/login", url.Values{"password": {"wrong"}})
	}
	right := url.Values{"password": {thePassword}}
	away := netip.MustParseAddr("198.51.100.9")
	client.Store(&away)
	assert.Equal(t, http.StatusTooManyRequests, f.browser().post("/login", right).status)
	assert.Equal(t, http.StatusSeeOther, owner.post("/login", right).status, "wherever it is")
}

func TestSettingUpIsNotRateLimited(t *testing.T) {
	t.Parallel()
	f := fresh(t)
	b := f.browser()
	for range 40 {
		b.post("/setup", url.Values{"token": {"wrong"}, "password": {thePassword}})
	}
	a := b.post("/setup", url.Values{"token": {f.account.SetupToken()}, "password": {thePassword}})
	assert.Equal(t, http.StatusSeeOther, a.status)
}

// fresh is a dashboard of a collector without a password.
func fresh(t *testing.T) *fixture {
	st := storetest.NewReference()
	a, err := account.Open(t.Context(), st)
	require.NoError(t, err)
	f := newFixtureWith(t, func(c *Config) { c.Store, c.Account = st, a })
	f.account = a
	return f
}

func TestSetupLinkWorksOnce(t *testing.T) {
	t.Parallel()
	f := fresh(t)
	link := "/setup?token=" + f.account.SetupToken()
	b := f.browser()
	assert.Contains(t, b.page("/login").body, "not set up yet")

	short := b.page(link).submit("/setup", map[string]string{"password": "short"})
	assert.Equal(t, http.StatusUnprocessableEntity, short.status)
	assert.Contains(t, short.body, "Password is shorter than 10 characters")
	done := short.submit("/setup", map[string]string{"password": thePassword})
	assert.Contains(t, done.follow().body, "No sites yet", "and it signs in")

	other := f.browser()
	assert.Contains(t, other.page(link).body, "already set up")
	again := other.post("/setup", url.Values{"token": {strings.TrimPrefix(link, "/setup?token=")}, "password": {"another password"}})
	assert.Equal(t, http.StatusForbidden, again.status)
	assert.Equal(t, http.StatusUnauthorized, other.post("/login", url.Values{"password": {"another password"}}).status)
}

func TestSetupRequiresTheTokenOfTheLink(t *testing.T) {
	t.Parallel()
	f := fresh(t)
	for _, token := range []string{"", "wrong"} {
		a := f.browser().post("/setup", url.Values{"token": {token}, "password": {thePassword}})
		assert.Equal(t, http.StatusForbidden, a.status)
		assert.Contains(t, a.body, "is out of date or was already used")
	}
	assert.False(t, f.account.HasPassword())
}

func TestChangingThePasswordRequiresTheOldOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b, elsewhere := f.signedIn(), f.signedIn()
	wrong := b.page("/password").submit("/password", map[string]string{"old": "wrong", "password": "a new password"})
	assert.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	assert.Contains(t, wrong.body, "Current password is wrong")
	assert.NotContains(t, wrong.body, "a new password", "passwords are not sent back")
	done := wrong.submit("/password", map[string]string{"old": thePassword, "password": "a new password"})
	assert.Contains(t, done.follow().body, "The password was changed")
	assert.Equal(t, "/login", elsewhere.get("/").header.Get("Location"), "other sessions are over")
}

func TestFormsHaveASizeLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, b := range []*browser{f.signedIn(), f.browser()} {
		a := b.post("/login", url.Values{"password": {strings.Repeat("x", maxForm)}})
		assert.Equal(t, http.StatusRequestEntityTooLarge, a.status)
		assert.Contains(t, a.body, "The form is too large")
	}
}
