package dashboard

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/live"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

const thePassword = "correct horse battery"

// noon is the current time of the tests: a Friday.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fixture is a dashboard on a real server.
type fixture struct {
	t       *testing.T
	store   store.Store
	account *account.Account
	hub     *live.Hub
	done    chan struct{}
	log     *lockedBuffer
	handler http.Handler
	server  *httptest.Server
	served  sync.WaitGroup // requests under way
}

func newFixture(t *testing.T) *fixture { return newFixtureWith(t, func(*Config) {}) }

func newFixtureWith(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	f := newHandler(t, change)
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.served.Add(1)
		defer f.served.Done()
		f.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(f.server.Close)
	return f
}

// newHandler returns a fixture without a server.
func newHandler(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, store: storetest.NewReference(), hub: &live.Hub{}, done: make(chan struct{}), log: &lockedBuffer{}}
	f.putPassword()
	var err error
	f.account, err = account.Open(t.Context(), f.store)
	require.NoError(t, err)
	c := Config{
		Account: f.account, Store: f.store, Live: f.hub, Done: f.done,
		PublicURL: "https://stats.example.com/", Now: func() time.Time { return noon },
		Logger: slog.New(slog.NewTextHandler(f.log, nil)),
	}
	change(&c)
	f.store = c.Store
	f.handler = New(c)
	return f
}

// putPassword stores a password with a fast hash.
func (f *fixture) putPassword() {
	salt := []byte("0123456789abcdef")
	hash, err := pbkdf2.Key(sha256.New, thePassword, salt, 1, sha256.Size)
	require.NoError(f.t, err)
	data, err := json.Marshal(map[string]any{"salt": salt, "hash": hash, "rounds": 1})
	require.NoError(f.t, err)
	require.NoError(f.t, f.store.Put(f.t.Context(), "password", store.Record{ID: "owner", Data: data}))
}

func (f *fixture) site(name, domain string) account.Site {
	f.t.Helper()
	site, err := f.account.AddSite(f.t.Context(), name, domain)
	require.NoError(f.t, err)
	site, _ = f.account.Site(site.ID)
	return site
}

// move changes the time zone of a site.
func (f *fixture) move(site, zone string) {
	f.t.Helper()
	s, _ := f.account.Site(site)
	s.Zone = zone
	require.NoError(f.t, f.account.ChangeSite(f.t.Context(), s))
}

func (f *fixture) add(events ...store.Event) {
	f.t.Helper()
	for _, e := range events {
		storetest.Add(f.t, f.store, e)
	}
}

// browser keeps cookies and does not follow redirects unless asked to.
type browser struct {
	*fixture
	client *http.Client
}

func (f *fixture) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(f.t, err)
	return &browser{f, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn returns a browser with a session.
func (f *fixture) signedIn() *browser {
	f.t.Helper()
	b := f.browser()
	answer := b.post("/login", url.Values{"password": {thePassword}})
	require.Equal(f.t, http.StatusSeeOther, answer.status, answer.body)
	return b
}

// answer is an HTTP response.
type answer struct {
	*browser
	path   string
	status int
	header http.Header
	body   string
}

func (b *browser) do(r *http.Request) answer {
	b.t.Helper()
	res, err := b.client.Do(r)
	require.NoError(b.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return answer{b, r.URL.RequestURI(), res.StatusCode, res.Header, string(body)}
}

func (b *browser) get(path string) answer {
	b.t.Helper()
	return b.do(b.request(b.t.Context(), http.MethodGet, path, nil))
}

func (b *browser) request(ctx context.Context, method, path string, body io.Reader) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, b.server.URL+path, body)
	require.NoError(b.t, err)
	return r
}

// post sends a form as a browser does from a page of the dashboard.
func (b *browser) post(path string, values url.Values) answer {
	b.t.Helper()
	r := b.request(b.t.Context(), http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.server.URL)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

// page gets a path and requires status 200.
func (b *browser) page(path string) answer {
	b.t.Helper()
	a := b.get(path)
	require.Equal(b.t, http.StatusOK, a.status, "%s: %s", path, a.body)
	return a
}

// follow follows a redirect.
func (a answer) follow() answer {
	a.t.Helper()
	require.Equal(a.t, http.StatusSeeOther, a.status, a.body)
	return a.page(a.header.Get("Location"))
}

var (
	tagForm    = regexp.MustCompile(`(?s)<form\b[^>]*>.*?</form>`)
	tagInput   = regexp.MustCompile(`(?s)<input\b[^>]*>`)
	tagSelect  = regexp.MustCompile(`(?s)<select\b([^>]*)>(.*?)</select>`)
	tagOption  = regexp.MustCompile(`<option\b[^>]*>`)
	attributes = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

// attrs returns the attributes of a tag, as a browser reads them.
func attrs(tag string) map[string]string {
	all := make(map[string]string)
	for _, m := range attributes.FindAllStringSubmatch(tag, -1) {
		all[m[1]] = html.UnescapeString(m[2])
	}
	return all
}

// fields returns the values that a browser would send for an unchanged form.
func fields(form string) url.Values {
	values := make(url.Values)
	for _, tag := range tagInput.FindAllString(form, -1) {
		a := attrs(tag)
		if a["type"] != "checkbox" || strings.Contains(tag, " checked") {
			values.Set(a["name"], a["value"])
		}
	}
	for _, sel := range tagSelect.FindAllStringSubmatch(form, -1) {
		for _, option := range tagOption.FindAllString(sel[2], -1) {
			if name := attrs(sel[1])["name"]; strings.Contains(option, " selected") || values.Get(name) == "" {
				values.Set(name, attrs(option)["value"])
			}
		}
	}
	return values
}

// submit fills the page's form for action and sends it. It fails for unknown fields.
func (a answer) submit(action string, fill map[string]string) answer {
	a.t.Helper()
	for _, form := range tagForm.FindAllString(a.body, -1) {
		if attrs(form[:strings.Index(form, ">")])["action"] != action {
			continue
		}
		values := fields(form)
		for name, value := range fill {
			require.Contains(a.t, form, ` name="`+name+`"`)
			values.Set(name, value)
		}
		return a.post(action, values)
	}
	require.Fail(a.t, "no such form", "%s on %s: %s", action, a.path, a.body)
	return answer{}
}

// lockedBuffer is a buffer for a logger, safe for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// viewed returns a pageview of a visitor.
func viewed(site, path string, at time.Time, visitor uint64) store.Event {
	return store.Event{Site: site, At: at, URL: "https://shop.example.com" + path, Path: path, Visitor: visitor}
}

// happened returns an event with props, by key and value.
func happened(site, name string, at time.Time, visitor uint64, props ...string) store.Event {
	e := store.Event{Site: site, At: at, Name: name, URL: "https://shop.example.com/cart", Path: "/cart", Visitor: visitor}
	for i := 0; i < len(props); i += 2 {
		e.Props = append(e.Props, store.Prop{Key: props[i], Value: props[i+1]})
	}
	return e
}
