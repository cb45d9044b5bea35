package dashboard

import (
	"context"
	"errors"
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

// behind is a store that computes figures in the background. The reports of some sites never end.
type behind struct {
	store.Store
	backlog *store.Backlog // nil for none
	slow    map[string]bool
}

func (b behind) Backlog() (store.Backlog, bool) {
	if b.backlog == nil {
		return store.Backlog{}, false
	}
	return *b.backlog, true
}

func (b behind) wait(ctx context.Context, q store.Query) error {
	if b.slow[q.Site] {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (b behind) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	if err := b.wait(ctx, q); err != nil {
		return nil, err
	}
	return b.Store.Ask(ctx, q, questions...)
}

// timedPage returns an answer without a server, and how long it took.
func (f *fixture) timedPage(path string) (*httptest.ResponseRecorder, time.Duration) {
	f.t.Helper()
	token, _, err := f.account.SignIn(f.t.Context(), thePassword)
	require.NoError(f.t, err)
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, path, nil)
	r.AddCookie(&http.Cookie{Name: "footfall_session", Value: token})
	w, began := httptest.NewRecorder(), time.Now()
	f.handler.ServeHTTP(w, r)
	return w, time.Since(began)
}

const reload = `<meta http-equiv="refresh" content="10">`

func TestThePageOfSitesDoesNotWaitForASiteWhoseFiguresTakeTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := make(map[string]bool)
		f := newHandler(t, func(c *Config) { c.Store = behind{c.Store, nil, slow} })
		large, small := f.site("Large", "large.example.com"), f.site("Small", "small.example.com")
		f.add(viewed(large.ID, "/", noon.Add(-time.Hour), 1), viewed(small.ID, "/", noon.Add(-time.Hour), 1))
		f.add(viewed("site_lost", "/", noon.Add(-time.Hour), 1))
		_, err := f.account.FindOrphans(t.Context())
		require.NoError(t, err)
		slow[large.ID], slow["site_lost"] = true, true
		w, took := f.timedPage("/")
		assert.Equal(t, 20*time.Second, took, "as long as any other page may take")
		assert.Equal(t, http.StatusOK, w.Code)
		body := w.Body.String()
		assert.Regexp(t, `(?s)Large</a>.*The figures take too long.*Small</a>.*Active today.*<dt>Pageviews</dt><dd>1</dd>`, body)
		assert.Equal(t, 1, strings.Count(body, "The figures take too long"))
		assert.Regexp(t, `>Events of <code>site_lost`, body)
		assert.NotContains(t, body, reload)
	})
}

func TestASlowPageSaysHowFarTheStoreIs(t *testing.T) {
	t.Parallel()
	for want, backlog := range map[string]store.Backlog{
		"The service has just started, and looks for figures that it has to compute.":                                                                  {},
		"The service computes the figures of earlier events since its start: 0 of 1 day of all sites, and 3,145,728 events of the next day, are done.": {Days: 1, Events: 3 << 20},
		"The service computes the figures of earlier events since its start: 112 of 180 days of all sites are done.":                                   {Days: 180, Done: 112},
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := make(map[string]bool)
			f := newHandler(t, func(c *Config) { c.Store = behind{c.Store, &backlog, slow} })
			site := f.site("Large", "large.example.com")
			slow[site.ID] = true
			for path, status := range map[string]int{"/": http.StatusOK, "/sites/" + site.ID: http.StatusServiceUnavailable} {
				w, took := f.timedPage(path)
				assert.Equal(t, 5*time.Second, took, path)
				assert.Equal(t, status, w.Code, path)
				assert.Contains(t, w.Body.String(), want+" This page reloads itself.", path)
				assert.Contains(t, w.Body.String(), reload, path)
			}
			slow[site.ID] = false
			w, _ := f.timedPage("/")
			assert.NotContains(t, w.Body.String(), reload, "it has all figures")
		})
	}
}

// unreadable is a store whose reports about some sites fail at once.
type unreadable struct {
	store.Store
	sites map[string]bool
}

var errUnreadable = errors.New("the page is malformed")

func (u unreadable) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	if u.sites[q.Site] {
		return nil, errUnreadable
	}
	return u.Store.Ask(ctx, q, questions...)
}

func TestThePageOfSitesNamesASiteWhoseFiguresCannotBeRead(t *testing.T) {
	t.Parallel()
	sites := map[string]bool{"site_lost": true}
	f := newHandler(t, func(c *Config) { c.Store = unreadable{c.Store, sites} })
	damaged, other := f.site("Damaged", "damaged.example.com"), f.site("Other", "other.example.com")
	f.add(viewed(damaged.ID, "/", noon.Add(-time.Hour), 1), viewed(other.ID, "/", noon.Add(-time.Hour), 1), viewed("site_lost", "/", noon, 1))
	_, err := f.account.FindOrphans(t.Context())
	require.NoError(t, err)
	sites[damaged.ID] = true
	w, _ := f.timedPage("/")
	assert.Equal(t, http.StatusOK, w.Code)
	body := w.Body.String()
	assert.Regexp(t, `(?s)Damaged</a>.*The figures cannot be read.*Other</a>.*Active today.*<dt>Pageviews</dt><dd>1</dd>`, body)
	assert.Equal(t, 1, strings.Count(body, "The figures cannot be read"))
	assert.Regexp(t, `>Events of <code>site_lost`, body)
	assert.NotContains(t, body, reload)
	assert.Equal(t, 2, strings.Count(f.log.String(), "the figures of a site cannot be read"), f.log.String())
	assert.Contains(t, f.log.String(), "site="+damaged.ID+` error="the page is malformed"`)
}
