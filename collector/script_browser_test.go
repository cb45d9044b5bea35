package collector

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// counted counts the beacons of a page, before t.js loads. A page ends with last(), an event
// with the number of beacons. The test waits for that many, so an extra event fails it even
// on a slow machine.
const counted = `<!doctype html><link rel="icon" href="data:,"><title>App</title>
<script>
var sent = 0, beacon = navigator.sendBeacon;
navigator.sendBeacon = function () { sent++; return beacon.apply(navigator, arguments); };
function last() { footfall("last", {sent: sent + 1}); }
</script>`

// snippet is the tag that site owners paste.
const snippet = `<script defer src="$collector/t.js" data-site="$domain"></script>`

// app is a single-page application that triggers each of the script's listeners.
const app = counted + `
<script>window.footfall = function () { (footfall.q = footfall.q || []).push(arguments); }; footfall("early");</script>
` + snippet + `
<script>
addEventListener("load", function () {
	footfall("signup", {plan: "pro", seats: 3, ok: true, none: null, missing: undefined, big: 10n, much: 1/0, list: [1, "a"], at: new Date(0), part: 0.5});
	history.pushState({}, "", "/second?x=1#secret");
	history.replaceState({}, "", "/second?x=2"); // the same page
	history.replaceState({}, "", "/third");
	history.pushState({}, "", "/fourth");
	addEventListener("popstate", last); // after the listener of t.js
	history.back();
});
</script>`

// Two pages: the first prerenders the second and opens it when the server allows. The second
// reports when it is rendered and when it is shown.
const (
	ahead = counted + snippet + `
<script type="speculationrules">{"prerender": [{"source": "list", "urls": ["/next"], "eagerness": "immediate"}]}</script>
<script>
addEventListener("load", function () {
	footfall("fence");
	fetch("/go").then(function () { location.href = "/next"; });
});
</script>`
	next = counted + snippet + `
<script>
addEventListener("load", function () {
	footfall("read_ahead");
	document.addEventListener("prerenderingchange", function () { setTimeout(last); });
	fetch("/rendered?ahead=" + document.prerendering);
});
</script>`
)

// patience bounds each wait for a browser on a busy machine. Only failures wait this long.
const patience = 3 * time.Minute

// pages serves a site to a browser without a debugger, which would disable prerendering.
type pages struct {
	*service
	server *httptest.Server
	asked  chan struct{} // closed at the browser's first request
}

// servePages serves the texts and handlers by their paths.
func servePages(t *testing.T, texts map[string]string, handlers map[string]http.HandlerFunc) *pages {
	t.Helper()
	p := &pages{service: serve(t, Config{CountHeadless: true}), asked: make(chan struct{})}
	mux := http.NewServeMux()
	for path, text := range texts {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, strings.NewReplacer("$collector", p.url, "$domain", r.Host).Replace(text))
		})
	}
	for path, handle := range handlers {
		mux.HandleFunc(path, handle)
	}
	var once sync.Once
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(p.asked) })
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.server.Close)
	var err error
	p.site, err = p.Account().AddSite(t.Context(), "App", strings.TrimPrefix(p.server.URL, "http://"))
	require.NoError(t, err)
	return p
}

// visit opens the path in a new Chromium, which ends with the test. If Chromium does not
// start, visit tries again.
func (p *pages) visit(t *testing.T, path string) {
	t.Helper()
	for range 3 {
		stop := startBrowser(t, p.server.URL+path)
		select {
		case <-p.asked:
			t.Cleanup(func() { p.server.CloseClientConnections(); stop() })
			return
		case <-time.After(patience / 3):
			t.Log("the browser did not come; it said:", stop())
		}
	}
	require.Fail(t, "no browser came")
}

// startBrowser starts a browser. stop ends it and returns its output.
func startBrowser(t *testing.T, address string) (stop func() string) {
	t.Helper()
	binary, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no chromium here; TestScriptIsMadeOfItsSource still runs:", err)
	}
	require.NoError(t, err)
	profile, err := os.MkdirTemp("", "footfall-browser-")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
		"--user-data-dir="+profile, "--remote-debugging-port=0", address)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it then ends its child processes
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	return func() string {
		cancel()
		_ = cmd.Wait()            // it was interrupted
		_ = os.RemoveAll(profile) // its children may still write there
		return said.String()
	}
}

// settled waits until all events are stored: before the events of earlier pages, and the number
// reported by the last page. It returns them without the event "last".
func (p *pages) settled(t *testing.T, before int) (all []store.Event) {
	t.Helper()
	require.Eventually(t, func() bool {
		all = p.stored(t)
		for i, e := range all {
			if e.Name == "last" {
				sent, err := strconv.Atoi(e.Props[0].Value)
				if err == nil && len(all) >= before+sent {
					all = append(all[:i:i], all[i+1:]...)
					return true
				}
			}
		}
		return false
	}, patience, 20*time.Millisecond)
	return all
}

func TestScriptInABrowser(t *testing.T) {
	t.Parallel()
	p := servePages(t, map[string]string{"/": app}, nil)
	p.visit(t, "/first?utm_source=mail#secret")
	checkApp(t, p.site, p.settled(t, 0), p.server.URL)
}

func checkApp(t *testing.T, site account.Site, all []store.Event, base string) {
	t.Helper()
	var seen []string
	for _, e := range all {
		seen = append(seen, e.Name+strings.TrimPrefix(e.URL, base))
		assert.Equal(t, all[0].Visitor, e.Visitor)
		assert.Empty(t, e.Referrer)
		if e.Name == "signup" {
			assert.Equal(t, []store.Prop{
				{Key: "plan", Value: "pro"}, {Key: "seats", Value: "3", Numeric: true}, {Key: "ok", Value: "true"},
				{Key: "big", Value: "10"}, {Key: "much", Value: "Infinity"}, {Key: "list", Value: `[1,"a"]`},
				{Key: "at", Value: "1970-01-01T00:00:00.000Z"}, {Key: "part", Value: "0.5", Numeric: true},
			}, e.Props)
		}
	}
	assert.Equal(t, []string{
		"/first?utm_source=mail", "early/first?utm_source=mail", "signup/first?utm_source=mail",
		"/second", "/third", "/fourth", "/third",
	}, seen, "%s: in the order in which the page sent them", site.Domain)
	for i := range all[1:] {
		assert.True(t, all[i].At.Before(all[i+1].At), "%s at %v", seen[i], all[i].At)
	}
}

func TestPrerenderedPageCountsOnlyWhenItIsSeen(t *testing.T) {
	t.Parallel()
	rendered, seen := make(chan string, 1), make(chan struct{})
	p := servePages(t, map[string]string{"/": ahead, "/next": next}, map[string]http.HandlerFunc{
		"/rendered": func(_ http.ResponseWriter, r *http.Request) { rendered <- r.URL.Query().Get("ahead") },
		"/go": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-seen:
			case <-r.Context().Done():
			}
		},
	})
	p.visit(t, "/")
	select {
	case was := <-rendered: // t.js has run, and an event was sent
		require.Equal(t, "true", was)
	case <-time.After(patience):
		require.Fail(t, "the page was not rendered ahead")
	}
	require.Eventually(t, func() bool { return len(p.stored(t)) >= 2 }, patience, 20*time.Millisecond)
	assert.ElementsMatch(t, []string{"/", "fence/"}, seenBy(p.stored(t)), "nothing of the page that was not shown")
	close(seen)
	assert.ElementsMatch(t, []string{"/", "fence/", "/next", "read_ahead/next"}, seenBy(p.settled(t, 2)))
}

// seenBy returns names and paths.
func seenBy(all []store.Event) (seen []string) {
	for _, e := range all {
		seen = append(seen, e.Name+e.Path)
	}
	return seen
}
