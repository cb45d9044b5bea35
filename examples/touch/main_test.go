package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/alexedwards/scs/v2"
	"github.com/gorilla/sessions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// A visitor comes with a campaign, looks around, and orders. Another one comes without.
func TestAnOrderHasTheCampaignOfItsVisit(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*footfall.Tracker) http.Handler{
		"scs": func(tracker *footfall.Tracker) http.Handler { return withSCS(tracker, scs.New()) },
		"gorilla": func(tracker *footfall.Tracker) http.Handler {
			return withGorilla(tracker, sessions.NewCookieStore([]byte("secret")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			server := httptest.NewServer(open(tracker.Tracker))
			defer server.Close()
			for _, query := range []string{"?utm_source=news&utm_campaign=spring&gclid=1", ""} {
				jar, err := cookiejar.New(nil)
				require.NoError(t, err)
				client := &http.Client{Jar: jar}
				for _, page := range []string{"/" + query, "/"} {
					request, err := http.NewRequest(http.MethodGet, server.URL+page, nil)
					require.NoError(t, err)
					request.Header.Set("Accept", "text/html")
					response, err := client.Do(request)
					require.NoError(t, err)
					require.NoError(t, response.Body.Close())
				}
				response, err := client.Post(server.URL+"/orders", "text/plain", strings.NewReader(""))
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
			}
			var queries []string
			for _, e := range tracker.Events() {
				u, err := url.Parse(e.URL)
				require.NoError(t, err)
				assert.Equal(t, "/orders", u.Path)
				queries = append(queries, u.RawQuery)
			}
			assert.Equal(t, []string{"utm_source=news&utm_campaign=spring", ""}, queries)
		})
	}
}
