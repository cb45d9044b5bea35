//go:build ci

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/footfalltest"
)

// checked is a connection to an API that holds each request and its answer against the
// description of the API.
type checked struct {
	t *testing.T
	v validator.Validator
	n int
}

func check(t *testing.T) *checked {
	t.Helper()
	text, err := os.ReadFile("../collector/api/openapi.yaml")
	require.NoError(t, err)
	document, err := libopenapi.NewDocument(text)
	require.NoError(t, err)
	v, problems := validator.NewValidator(document, config.WithFormatAssertions())
	require.Empty(t, problems)
	return &checked{t: t, v: v}
}

func (c *checked) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		require.NoError(c.t, err)
	}
	renew := func() { r.Body = io.NopCloser(bytes.NewReader(body)) }
	c.n++
	renew()
	ok, problems := c.v.ValidateHttpRequest(r)
	assert.True(c.t, ok, "%s %s %s: %v", r.Method, r.URL, body, problems)
	renew()
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	response.Body = io.NopCloser(bytes.NewReader(answer))
	ok, problems = c.v.ValidateHttpResponse(r, response)
	assert.True(c.t, ok, "%s %s: %d %s: %v", r.Method, r.URL, response.StatusCode, answer, problems)
	response.Body = io.NopCloser(bytes.NewReader(answer))
	return response, nil
}

// startKeyed starts a service with a site and a key.
func startKeyed(t *testing.T) (s *service, key string, site account.Site) {
	t.Helper()
	s = startService(t, func(_ store.Store, a *account.Account) {
		var err error
		site, err = a.AddSite(t.Context(), "Shop", "shop.example.com")
		require.NoError(t, err)
		key, _, err = a.IssueKey(t.Context(), "test")
		require.NoError(t, err)
	})
	return s, key, site
}

// TestRequestsAndAnswersAreDescribed runs a tracker and a client against the collector and
// against the API of footfalltest.
func TestRequestsAndAnswersAreDescribed(t *testing.T) {
	t.Parallel()
	s, key, site := startKeyed(t)
	api := footfalltest.NewAPI(t)
	for name, cfg := range map[string]footfall.Config{
		"collector":    {BaseURL: s.url, APIKey: key, SiteID: site.ID, DefaultURL: "https://shop.example.com/"},
		"footfalltest": api.Config(),
	} {
		t.Run(name, func(t *testing.T) {
			c := check(t)
			cfg.HTTPClient = &http.Client{Transport: c}
			tracker, err := footfall.New(cfg)
			require.NoError(t, err)
			require.NoError(t, tracker.Track(t.Context(), "order_paid", footfall.P("plan", "pro"), footfall.P("amount", 49.5), footfall.P("n", -3)))
			require.NoError(t, tracker.Close(t.Context()))
			assert.EqualValues(t, 1, tracker.Stats().Delivered)

			ask := func(key string) *footfall.Client {
				client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: cfg.BaseURL, APIKey: key, HTTPClient: cfg.HTTPClient})
				require.NoError(t, err)
				return client
			}
			sites, err := ask(cfg.APIKey).Sites(t.Context())
			require.NoError(t, err)
			require.Len(t, sites, 1)
			_, err = ask(cfg.APIKey).Site(t.Context(), sites[0].ID)
			require.NoError(t, err)
			_, err = ask(cfg.APIKey).Site(t.Context(), "none")
			require.ErrorIs(t, err, footfall.ErrNotFound)
			assert.Error(t, ask(cfg.APIKey).Send(t.Context(), footfall.Event{SiteID: "none", Name: "x", URL: "https://shop.example.com/"}))
			assert.Error(t, ask("wrong").Send(t.Context(), footfall.Event{SiteID: cfg.SiteID, Name: "x", URL: "https://shop.example.com/"}))
			assert.Equal(t, 6, c.n)
		})
	}
}
