package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// newspaper is a site of pages with t.js. The pages report to it what happens. The
// collector's own tests cover prerendered pages, because Chromium prerenders none while a
// debugger is attached.
type newspaper struct {
	*service
	t      *testing.T
	server *httptest.Server
	site   account.Site
	pages  map[string]string // by path, the content besides t.js

	mu   sync.Mutex
	told []string // in the order told
}

// tell is a function of all pages that reports to the newspaper.
const tell = `<script>function tell(what) { fetch("/tell?" + what, {keepalive: true}); }</script>`

func startNewspaper(t *testing.T, pages map[string]string) *newspaper {
	t.Helper()
	n := &newspaper{t: t, service: startService(t, nil), pages: pages}
	n.server = httptest.NewServer(n)
	t.Cleanup(n.server.Close)
	n.site = n.add(n.domain())
	return n
}

func (n *newspaper) domain() string { return strings.TrimPrefix(n.server.URL, "http://") }

func (n *newspaper) add(domain string) account.Site {
	n.t.Helper()
	site, err := n.account.AddSite(n.t.Context(), "", domain)
	require.NoError(n.t, err)
	return site
}

func (n *newspaper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch page, ok := n.pages[r.URL.Path]; {
	case r.URL.Path == "/tell":
		n.mu.Lock()
		n.told = append(n.told, r.URL.RawQuery)
		n.mu.Unlock()
	case ok:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		script := fmt.Sprintf(`<script defer src="%s/t.js" data-site="%s"></script>`, n.url, n.domain())
		_, _ = io.WriteString(w, "<!doctype html><link rel=icon href=data:,><title>News</title>"+tell+strings.Replace(page, "$script", script, 1))
	default:
		http.NotFound(w, r)
	}
}

// hears waits until a page has reported what.
func (n *newspaper) hears(what string) {
	n.t.Helper()
	require.Eventually(n.t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return slices.Contains(n.told, what)
	}, patience, 10*time.Millisecond, what)
}

// stored returns the events of a site as sorted texts of name and path.
func (n *newspaper) stored(site account.Site) (all []string) {
	n.t.Helper()
	q := store.Query{Site: site.ID, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
	require.NoError(n.t, n.store.Export(n.t.Context(), q, func(e store.Event) error {
		all = append(all, strings.TrimSpace(e.Name+" "+e.Path))
		return nil
	}))
	slices.Sort(all)
	return all
}

// has waits until the site has as many events as wanted, and asserts that they are the wanted
// ones. The pages of these tests send an event last, so everything that a page sent before
// has arrived.
func (n *newspaper) has(want ...string) {
	n.t.Helper()
	require.Eventually(n.t, func() bool { return len(n.stored(n.site)) >= len(want) }, patience, 10*time.Millisecond)
	slices.Sort(want)
	assert.Equal(n.t, want, n.stored(n.site))
}

func TestPageFromTheBackForwardCacheCountsOnceMore(t *testing.T) {
	n := startNewspaper(t, map[string]string{
		"/":     `$script<script>addEventListener("pageshow", (e) => { if (e.persisted) { footfall("back"); tell("restored"); } })</script>`,
		"/next": `$script`,
	})
	b := openBrowser(t)
	b.open(n.server.URL + "/")
	n.has("/")
	b.open(n.server.URL + "/next")
	n.has("/", "/next")
	eval[any](b, `void setTimeout(() => history.back())`) // loads nothing, so there is no load to wait for
	n.hears("restored")
	n.has("/", "/next", "/", "back /")
}

func TestSinglePageNavigationCountsEachPathOnce(t *testing.T) {
	n := startNewspaper(t, map[string]string{"/": `$script<script>
		addEventListener("load", () => {
			history.pushState({}, "", "/second?page=1");
			history.pushState({}, "", "/second?page=2#end"); // the same page
			history.replaceState({}, "", "/third");
			addEventListener("popstate", () => { // runs after the listener of t.js
				if (location.pathname == "/second") {
					history.forward();
				} else {
					footfall("done");
				}
			});
			history.back();
		});
	</script>`})
	b := openBrowser(t)
	b.open(n.server.URL + "/")
	n.has("/", "/second", "/third", "/second", "/third", "done /third")
}

func TestEventsSentWhileThePageIsLeftArrive(t *testing.T) {
	n := startNewspaper(t, map[string]string{"/": `$script<script>
		// Not pagehide: with an unload handler the page is not kept in the back-forward
		// cache, and its requests end with it.
		addEventListener("unload", () => footfall("left", {after: "reading"}));
	</script>`})
	b := openBrowser(t)
	b.open(n.server.URL + "/")
	b.open("about:blank")
	n.has("/", "left /")
}

func TestEventsGoToTheSiteThatDataSiteNames(t *testing.T) {
	n := startNewspaper(t, map[string]string{
		"/":      `$script`,
		"/other": `<script defer src="$collector/t.js" data-site="other.example.com"></script>`,
	})
	n.pages["/other"] = strings.Replace(n.pages["/other"], "$collector", n.url, 1)
	other := n.add("other.example.com")
	b := openBrowser(t)
	b.open(n.server.URL + "/other")
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(b.complaints(), " "), "status of 403") }, patience, 10*time.Millisecond,
		"a page of another domain is refused")
	b.open(n.server.URL + "/")
	n.has("/")
	assert.Empty(t, n.stored(other))
}
