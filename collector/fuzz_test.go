package collector

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// FuzzEvents checks POST /v1/events: it never fails, it answers 202 or the error body, and it
// stores what encoding/json reads from the body.
func FuzzEvents(f *testing.F) {
	st := storetest.NewReference()
	s := prepare(f, Config{Store: st})
	const site = "$site" // replaced by the random ID
	add := func(body, mediaType, key string) { f.Add(strings.ReplaceAll(body, s.site.ID, site), mediaType, key) }
	add(s.event("signup", pageURL, `{"plan":"pro","n":1.50,"e":-0E+1}`), "application/json", "key")
	add(s.event(`a\u00e4\ud83d\ude00\/\b`, "HTTP://[::1]:80/%ff?utm_source=%zz#x", `{"":1}`), "application/json; charset=utf-8", "")
	add(`{"site_id":"`+s.site.ID+`","name":"\ud800","url":"https://a"}`, "application/json", "")
	for _, row := range refusals(s) {
		if row.path == "/v1/events" {
			add(row.body, "application/json", "")
		}
	}
	f.Fuzz(func(t *testing.T, body, mediaType, key string) {
		body = strings.ReplaceAll(body, site, s.site.ID)
		r := httptest.NewRequest("POST", "/v1/events", strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {mediaType}}
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		require.NoError(t, st.Forget(t.Context(), s.site.ID, time.Time{}))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == http.StatusAccepted {
			assert.Equal(t, `{"accepted":true}`, w.Body.String())
			if all := s.stored(t); len(all) > 0 { // empty if the key was used before
				checkStored(t, body, all[0])
			}
			return
		}
		assert.Less(t, w.Code, 500)
		var e errorBody
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &e))
		assert.Equal(t, w.Code, e.Status)
		assert.NotEmpty(t, e.Error)
		assert.NotEmpty(t, e.Message)
		assert.Empty(t, s.stored(t))
	})
}

// checkStored compares an event with the body, decoded by encoding/json.
func checkStored(t *testing.T, body string, e store.Event) {
	var sent struct {
		SiteID string                     `json:"site_id"`
		Name   string                     `json:"name"`
		URL    string                     `json:"url"`
		Props  map[string]json.RawMessage `json:"props"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sent), body)
	assert.Equal(t, sent.SiteID, e.Site)
	assert.Equal(t, sent.Name, e.Name)
	assert.Equal(t, sent.URL, e.URL)
	assert.Len(t, e.Props, len(sent.Props))
	for _, p := range e.Props {
		raw := string(sent.Props[p.Key])
		if !p.Numeric {
			require.NoError(t, json.Unmarshal([]byte(raw), &raw))
		}
		assert.Equal(t, raw, p.Value)
	}
	assert.True(t, strings.HasPrefix(e.Path, "/"), e.Path)
	for _, text := range []string{e.Path, e.Source, e.Medium, e.Campaign, e.Name, e.URL} {
		assert.True(t, utf8.ValidString(text), "%q", text)
		assert.NotContains(t, text, "\x00")
	}
}
