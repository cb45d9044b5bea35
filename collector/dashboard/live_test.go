package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// watcher reads the stream of a live view.
type watcher struct {
	t      *testing.T
	stop   context.CancelFunc
	events chan line // closed when the stream ends
}

func (b *browser) watch(site string) *watcher {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.t.Context())
	b.t.Cleanup(stop)
	res, err := b.client.Do(b.request(ctx, http.MethodGet, "/sites/"+site+"/live/stream", nil))
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusOK, res.StatusCode)
	require.Equal(b.t, "text/event-stream", res.Header.Get("Content-Type"))
	w := &watcher{b.t, stop, make(chan line, 1000)}
	go func() {
		defer close(w.events)
		defer func() { _ = res.Body.Close() }()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var l line
				assert.NoError(b.t, json.Unmarshal([]byte(data), &l))
				w.events <- l
			}
		}
	}()
	return w
}

// next returns the next event, within a second.
func (w *watcher) next() line {
	w.t.Helper()
	select {
	case l, ok := <-w.events:
		require.True(w.t, ok, "the stream has ended")
		return l
	case <-time.After(time.Second):
		require.Fail(w.t, "no event within a second")
		return line{}
	}
}

func (w *watcher) ended() bool {
	select {
	case _, more := <-w.events:
		return !more
	case <-time.After(2 * time.Second):
		return false
	}
}

func TestLiveViewShowsEachEventWithinASecond(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site, other := f.site("Shop", "shop.example.com"), f.site("Other", "other.example.com")
	f.add(viewed(site.ID, "/before", noon.Add(-time.Minute), 7))
	w := f.signedIn().watch(site.ID)
	assert.Equal(t, "/before", w.next().Page, "earlier events are sent first")
	f.hub.Publish(viewed(other.ID, "/elsewhere", noon, 7))
	f.hub.Publish(happened(site.ID, nasty, noon, 0, "plan", "pro", "n", "2"))
	assert.Equal(t, line{
		At: "2026-11-20T12:00:00Z", Time: "12:00:00", Name: nasty, Page: "/cart", Props: "plan: pro, n: 2", Server: true,
	}, w.next())
}

func TestLiveViewEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	for range 3 {
		b.watch(site.ID).stop()
	}
	left := make(chan struct{})
	go func() { f.served.Wait(); close(left) }()
	select {
	case <-left:
	case <-time.After(2 * time.Second):
		assert.Fail(t, "a handler is left")
	}
}

func TestLiveViewEndsWhenTheCollectorCloses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	w := f.signedIn().watch(site.ID)
	close(f.done)
	assert.True(t, w.ended())
}

// TestLiveViewEndsWithTheSession uses no socket, because it runs in a synctest bubble.
func TestLiveViewEndsWithTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHandler(t, func(*Config) {})
		site := f.site("Shop", "shop.example.com")
		token, _, err := f.account.SignIn(t.Context(), thePassword)
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/sites/"+site.ID+"/live/stream", nil)
		r.AddCookie(&http.Cookie{Name: "footfall_session", Value: token})
		out, over := httptest.NewRecorder(), make(chan struct{})
		go func() { f.handler.ServeHTTP(out, r); close(over) }()
		time.Sleep(3*keepAlive + time.Second)
		require.NoError(t, f.account.SignOut(t.Context(), token))
		time.Sleep(keepAlive)
		synctest.Wait()
		select {
		case <-over:
		default:
			assert.Fail(t, "it goes on without a session")
		}
		assert.Equal(t, 3, strings.Count(out.Body.String(), ": still here"), "signs of life in between")
	})
}

func TestLiveViewsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	for range maxStreams {
		b.watch(site.ID)
	}
	assert.Equal(t, http.StatusServiceUnavailable, b.get("/sites/"+site.ID+"/live/stream").status)
}

func TestLiveViewSendsNothingTwice(t *testing.T) {
	t.Parallel()
	kept := happened("s", "signup", noon, 3, "plan", "pro")
	arriving := kept
	arriving.At, arriving.Key = noon.Add(300*time.Microsecond), "k" // as the hub has it
	sent := []store.Event{kept, viewed("s", "/", noon, 3)}
	assert.True(t, forget(&sent, arriving))
	assert.False(t, forget(&sent, arriving), "the second of two alike is new")
	assert.Len(t, sent, 1)

	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	e := happened(site.ID, "signup", noon, 3, "plan", "pro")
	f.add(e)
	w := f.signedIn().watch(site.ID)
	assert.Equal(t, "signup", w.next().Name)
	f.hub.Publish(e) // stored before the view began, published after
	f.hub.Publish(happened(site.ID, "next", noon, 3))
	assert.Equal(t, "next", w.next().Name)
}

func TestLiveViewShowsTheDayOfOlderEvents(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "19 Nov", newLine(viewed("s", "/", noon.AddDate(0, 0, -1), 1), noon, time.UTC).Time)
	assert.Equal(t, "00:00:00", newLine(viewed("s", "/", noon.Truncate(24*time.Hour), 1), noon, time.UTC).Time)
}

// Paths in the store are unescaped. To unescape one again makes /a%2Fb the page /a/b.
func TestLiveViewShowsThePathsOfTheTables(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(viewed(site.ID, "/a%2Fb", noon, 1))
	b := f.signedIn()
	for _, path := range []string{"/live", "/top/pages"} {
		assert.Contains(t, b.page("/sites/"+site.ID+path).body, `title="/a%2Fb">/a%2Fb<`, path)
	}
	w := b.watch(site.ID)
	assert.Equal(t, "/a%2Fb", w.next().Page)
	f.hub.Publish(viewed(site.ID, "/100%25", noon, 1))
	assert.Equal(t, "/100%25", w.next().Page)
}

func TestLiveViewWorksWithoutScript(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	f.add(happened(site.ID, "signup", noon.Add(-time.Minute), 0, "plan", "pro"), viewed(site.ID, "/café", noon, 1))
	body := f.signedIn().page("/sites/" + site.ID + "/live").body
	assert.Regexp(t, `(?s)12:00:00.*Pageview.*/café.*11:59:00.*signup.*/cart.*plan: pro`, body, "newest first")
	assert.Contains(t, body, fmt.Sprintf(`<a href="/sites/%s/live">Reload</a>`, site.ID))
}
