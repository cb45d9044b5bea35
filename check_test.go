package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// siteList is the answer to GET /v1/sites of an account with n sites, whose ids are 1 to n.
func siteList(n int) string {
	sites := make([]string, n)
	for i := range sites {
		sites[i] = fmt.Sprintf(`{"id":"%d","domain":"%d.example","created_at":"2026-01-01T00:00:00Z","tracking_active":false}`, i+1, i+1)
	}
	return fmt.Sprintf(`{"data":[%s],"meta":{"total":%d}}`, strings.Join(sites, ","), n)
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	html := "<html><body>Welcome to nginx!</body></html>"
	notFound := `{"error":"not_found","message":"no such page","status":404}`
	for name, row := range map[string]struct {
		status       int
		body         string
		field, reads string // reads is a part of the error
	}{
		"the site is there":      {200, siteList(3), "", ""},
		"another site":           {200, siteList(1), "Config.SiteID", `the account has no site with this id; it has "1" (1.example)`},
		"many other sites":       {200, strings.Replace(siteList(12), `"2"`, `"x"`, 1), "Config.SiteID", `"10" (10.example) and 2 more`},
		"the domain of a site":   {200, strings.Replace(siteList(1), "1.example", "2", 1), "Config.SiteID", `this is the domain of the site "1": use that id`},
		"no site":                {200, siteList(0), "Config.SiteID", "it has none: add one in the dashboard of the service"},
		"a page":                 {200, html, "Config.BaseURL", "the API answered 200 without the documented JSON"},
		"JSON of something else": {200, `{"status":"ok"}`, "Config.BaseURL", "lacks data"},
		"a page that is missing": {404, html, "Config.BaseURL", "Welcome to nginx!"},
		"a redirect":             {302, "", "Config.BaseURL", "a redirect, which is never followed"},
		"a refused key":          {401, `{"error":"unauthorized","message":"wrong key","status":401}`, "Config.APIKey", "wrong key"},
		"a firewall":             {403, html, "Config.APIKey", "a firewall refuses this request"},
		"an API without sites":   {404, notFound, "", "not_found"},
		"too many requests":      {429, "", "", "429"},
		"an outage":              {503, html, "", "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests []string
			server := testServer(t, func(w http.ResponseWriter, r *http.Request) {
				requests = append(requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.body)
			})
			tracker, err := footfall.New(footfall.Config{BaseURL: server.URL, APIKey: testKey, SiteID: "2", DefaultURL: "https://example.com/"})
			require.NoError(t, err)
			defer func() { assert.NoError(t, tracker.Close(t.Context())) }()
			err = tracker.Check(t.Context())
			assert.Equal(t, []string{"GET /v1/sites Bearer " + testKey}, requests, "one request")
			if row.reads == "" {
				require.NoError(t, err)
				return
			}
			failed, ok := errors.AsType[*footfall.CheckError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, row.field, failed.Field)
			assert.Contains(t, err.Error(), row.reads)
			assert.True(t, strings.HasPrefix(err.Error(), "footfall: check: "+row.field), err)
			assert.Equal(t, 1, strings.Count(err.Error(), "footfall:"), err)
			assert.NotContains(t, err.Error(), testKey)
			assert.Equal(t, row.field == "Config.SiteID" || row.body == notFound, errors.Is(err, footfall.ErrNotFound))
			if row.field != "Config.SiteID" {
				assert.Equal(t, err, clientOf(t, server.URL, func(c *footfall.ClientConfig) { c.APIKey = testKey }).Check(t.Context()))
			}
		})
	}
}

func TestCheckOfAnAddressWhereNothingAnswers(t *testing.T) {
	t.Parallel()
	server := testServer(t, func(http.ResponseWriter, *http.Request) {})
	server.Close()
	err := clientOf(t, server.URL).Check(t.Context())
	failed, ok := errors.AsType[*footfall.CheckError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "Config.BaseURL", failed.Field)
	assert.ErrorContains(t, err, "refused")
}

func TestCheckEndsWithItsContextAndItsTimeout(t *testing.T) {
	t.Parallel()
	server := testServer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	cfg := footfall.Config{BaseURL: server.URL, APIKey: testKey, SiteID: "1", AttemptTimeout: 20 * time.Millisecond}
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	defer func() { assert.NoError(t, tracker.Close(t.Context())) }()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for want, ctx := range map[error]context.Context{context.Canceled: canceled, context.DeadlineExceeded: t.Context()} {
		err := tracker.Check(ctx)
		require.ErrorIs(t, err, want)
		failed, _ := errors.AsType[*footfall.CheckError](err)
		assert.Empty(t, failed.Field, "an API that is slow is not a wrong address")
	}
}

// What Check needs is not used by a tracker with a Transport, and may be missing.
func TestCheckBesideATransport(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	for want, cfg := range map[string]footfall.Config{
		"":                           api.Config(),
		"footfall: Config.BaseURL: ": {SiteID: "1"},
	} {
		cfg.Transport = transportFunc(func(context.Context, *footfall.Source) {})
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		if err = tracker.Check(t.Context()); want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
		assert.NoError(t, tracker.Close(t.Context()))
	}
}

func TestCheckOfATrackerThatDoesNothing(t *testing.T) {
	t.Parallel()
	off, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	for _, tracker := range []*footfall.Tracker{nil, off} {
		assert.NoError(t, tracker.Check(t.Context()))
	}
}
