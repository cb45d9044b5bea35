package collector

import (
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

// Three beacons of one moment arrive reversed, within one millisecond.
func TestFunnelsFollowTheOrderInWhichThePageSentItsEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // a bubble begins at midnight, and visitors end there
		s := prepare(t, Config{})
		for _, n := range []int{3, 2, 1} {
			body := fmt.Sprintf(`{"s":%q,"n":"step %d","u":%q,"q":"4fz.%d"}`, domain, n, pageURL, n)
			r := httptest.NewRequest("POST", "/e", strings.NewReader(body))
			r.Header.Set("Content-Type", "text/plain")
			r.Header.Set("User-Agent", firefox)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			require.Equal(t, http.StatusAccepted, w.Code, w.Body)
		}
		q := store.Query{Site: s.site.ID, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
		funnel, err := s.store.Funnel(t.Context(), q, []store.Match{{Event: "step 1"}, {Event: "step 2"}, {Event: "step 3"}})
		require.NoError(t, err)
		for _, step := range funnel.Steps {
			assert.Equal(t, store.FunnelStep{Visitors: 1, Count: 1}, step)
		}
	})
}

func TestAnInvalidSequenceIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	for _, q := range []string{`""`, `"4fz"`, `"4fz."`, `".1"`, `"4fz.-1"`, `"4fz.4294967296"`, `7`, `"` + strings.Repeat("a", 39) + `.1"`} {
		a := s.browse(t, `{"s":"shop.example.com","u":"`+pageURL+`","q":`+q+`}`)
		assert.Equal(t, http.StatusBadRequest, a.status, q)
		assert.Contains(t, a.body, "q: ", q)
	}
	assert.Equal(t, http.StatusAccepted, s.browse(t, `{"s":"shop.example.com","u":"`+pageURL+`","q":"4fz.0"}`).status)
	a := s.api(t, "POST", "/v1/events", `{"site_id":"`+s.site.ID+`","name":"paid","url":"`+pageURL+`","q":"4fz.0"}`)
	assert.Equal(t, http.StatusBadRequest, a.status, "backends have none")
}
