package collector

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// app is a single-page application that goes through what the script listens to.
const app = `<!doctype html><title>App</title>
<script>window.footfall = function () { (footfall.q = footfall.q || []).push(arguments); }; footfall("early");</script>
<script defer src="$collector/t.js" data-site="$domain"></script>
<script>
addEventListener("load", function () {
	footfall("signup", {plan: "pro", seats: 3});
	history.pushState({}, "", "/second?x=1#secret");
	history.replaceState({}, "", "/second?x=2"); // the same page
	history.replaceState({}, "", "/third");
	history.pushState({}, "", "/fourth");
	history.back();
});
</script>`

func TestScriptInABrowser(t *testing.T) {
	t.Parallel()
	browser, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no chromium here; TestScriptIsMadeOfItsSource still runs:", err)
	}
	require.NoError(t, err)
	s := serve(t, Config{CountHeadless: true})
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.NewReplacer("$collector", s.url, "$domain", r.Host).Replace(app))
	}))
	defer page.Close()
	s.site, err = s.Account().AddSite(t.Context(), "App", strings.TrimPrefix(page.URL, "http://"))
	require.NoError(t, err)

	profile, err := os.MkdirTemp("", "footfall-browser-")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--user-data-dir="+profile, "--remote-debugging-port=0", page.URL+"/first?utm_source=mail#secret")
	cmd.Cancel = func() error { page.CloseClientConnections(); return cmd.Process.Signal(os.Interrupt) } // it ends its children then
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	defer func() {
		cancel()
		_ = cmd.Wait()            // it was interrupted
		_ = os.RemoveAll(profile) // its children may still write there
	}()
	const want = 7
	require.Eventually(t, func() bool { return len(s.stored(t)) >= want }, 50*time.Second, 50*time.Millisecond)
	time.Sleep(200 * time.Millisecond) // for one too many
	checkApp(t, s.site, s.stored(t), page.URL)
}

func checkApp(t *testing.T, site account.Site, all []store.Event, base string) {
	t.Helper()
	var seen []string
	for _, e := range all {
		seen = append(seen, e.Name+strings.TrimPrefix(e.URL, base))
		assert.Equal(t, all[0].Visitor, e.Visitor)
		assert.Empty(t, e.Referrer)
		if e.Name == "signup" {
			assert.Equal(t, []store.Prop{{Key: "plan", Value: "pro"}, {Key: "seats", Value: "3", Numeric: true}}, e.Props)
		}
	}
	assert.ElementsMatch(t, []string{
		"/first?utm_source=mail", "early/first?utm_source=mail", "signup/first?utm_source=mail",
		"/second?x=1", "/third", "/fourth", "/third",
	}, seen, site.Domain)
}
