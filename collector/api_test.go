package collector

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestSitesAreListedAsTheContractSays(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	created := s.site.CreatedAt.UTC().Format(time.RFC3339)
	one := `{"id":"` + s.site.ID + `","domain":"shop.example.com","created_at":"` + created + `","tracking_active":false}`

	got := s.api(t, "GET", "/v1/sites", "")
	assert.Equal(t, http.StatusOK, got.status)
	assert.Equal(t, `{"data":[`+one+`],"meta":{"total":1}}`, got.body)
	assert.Equal(t, "application/json", got.header.Get("Content-Type"))

	got = s.api(t, "GET", "/v1/sites/"+s.site.ID, "")
	assert.Equal(t, http.StatusOK, got.status)
	assert.Equal(t, `{"data":`+one+`}`, got.body)

	require.NoError(t, s.Account().DeleteSite(t.Context(), s.site.ID))
	assert.Equal(t, `{"data":[],"meta":{"total":0}}`, s.api(t, "GET", "/v1/sites", "").body)
}

func TestSiteKeepsItsIDWhenItsDomainChanges(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	s.site.Domain = "new.example.com"
	require.NoError(t, s.Account().ChangeSite(t.Context(), s.site))
	assert.Contains(t, s.api(t, "GET", "/v1/sites/"+s.site.ID, "").body, `"domain":"new.example.com"`)
	assert.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event("signup", pageURL, "{}")).status)
}

func TestEventIsStoredAsItWasSent(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	before := time.Now().Truncate(time.Millisecond)
	got := s.api(t, "POST", "/v1/events", `{"site_id":"`+s.site.ID+`","name":"Ünder_\u00e4 \"x\"","url":"https://shop.example.com/a%20b?utm_source=News+Letter&utm_medium=mail&utm_campaign=x%2Fy&q=1#top",`+
		`"props":{"plan":"pro","z":1.50,"a":-0,"big":123456789012345678901234567890,"e":1E+2,"pair":"\ud83d\ude00",`+`"line":"a\nb","html":"<script>"}}`)
	require.Equal(t, http.StatusAccepted, got.status, got.body)
	assert.Equal(t, `{"accepted":true}`, got.body)

	all := s.stored(t)
	require.Len(t, all, 1)
	e := all[0]
	assert.WithinRange(t, e.At, before, time.Now())
	e.At = time.Time{}
	assert.Equal(t, store.Event{
		Site: s.site.ID, Name: `Ünder_ä "x"`,
		URL:  "https://shop.example.com/a%20b?utm_source=News+Letter&utm_medium=mail&utm_campaign=x%2Fy&q=1#top",
		Path: "/a b", Source: "News Letter", Medium: "mail", Campaign: "x/y",
		Props: []store.Prop{
			{Key: "plan", Value: "pro"},
			{Key: "z", Value: "1.50", Numeric: true},
			{Key: "a", Value: "-0", Numeric: true},
			{Key: "big", Value: "123456789012345678901234567890", Numeric: true},
			{Key: "e", Value: "1E+2", Numeric: true},
			{Key: "pair", Value: "😀"},
			{Key: "line", Value: "a\nb"},
			{Key: "html", Value: "<script>"},
		},
	}, e)
}

func TestEventsAtTheLimitsAreAccepted(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	var props []string
	for i := range store.MaxProps {
		key := strings.Repeat("k", store.MaxPropKey-3) + string(rune('a'+i/26)) + string(rune('a'+i%26)) + "x"
		props = append(props, `"`+key[len(key)-min(len(key), 200):]+`":1`)
	}
	long := "https://shop.example.com/" + strings.Repeat("p", store.MaxURL-len("https://shop.example.com/"))
	for name, body := range map[string]string{
		"name":     s.event(strings.Repeat("ä", store.MaxName), pageURL, "{}"),
		"url":      s.event("x", long, "{}"),
		"props":    s.event("x", pageURL, "{"+strings.Join(props, ",")+"}"),
		"key":      s.event("x", pageURL, `{"`+strings.Repeat("k", store.MaxPropKey)+`":1}`),
		"text":     s.event("x", pageURL, `{"k":"`+strings.Repeat("v", store.MaxPropText)+`"}`),
		"number":   s.event("x", pageURL, `{"k":1.7976931348623157e308}`),
		"no props": `{"site_id":"` + s.site.ID + `","name":"x","url":"` + pageURL + `"}`,
		"body":     s.event("x", pageURL, "{}") + strings.Repeat(" ", store.MaxBody-len(s.event("x", pageURL, "{}"))),
	} {
		got := s.api(t, "POST", "/v1/events", body)
		assert.Equal(t, 202, got.status, "%s: %s", name, got.body)
	}
}

func TestKeyIsNeeded(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	const want = `{"error":"unauthorized","message":"send a valid API key as Authorization: Bearer \u003cAPI_KEY\u003e","status":401}`
	for name, header := range map[string][]string{
		"none":         {},
		"wrong":        {"Authorization", "Bearer " + s.key + "x"},
		"empty":        {"Authorization", "Bearer "},
		"other scheme": {"Authorization", "Basic " + s.key},
		"bare":         {"Authorization", s.key},
		"huge":         {"Authorization", "Bearer " + strings.Repeat("x", 4000)},
	} {
		for _, path := range []string{"/v1/sites", "/v1/sites/" + s.site.ID} {
			got := s.do(t, "GET", path, "", header...)
			assert.Equal(t, 401, got.status, name)
			assert.Equal(t, want, got.body, name)
			assert.Equal(t, `Bearer realm="footfall"`, got.header.Get("WWW-Authenticate"), name)
		}
	}
	assert.Equal(t, 200, s.do(t, "GET", "/v1/sites", "", "Authorization", "bearer  "+s.key).status, "schemes have no case")
}

func TestWrongKeysAreLimitedAndRightOnesAreNot(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	for range failureBurst {
		require.Equal(t, 401, s.do(t, "GET", "/v1/sites", "").status)
	}
	got := s.do(t, "GET", "/v1/sites", "")
	assert.Equal(t, 429, got.status)
	assert.Equal(t, `{"error":"rate_limited","message":"too many requests without a valid API key","status":429}`, got.body)
	assert.Regexp(t, `^[1-6]$`, got.header.Get("Retry-After"))
	assert.Equal(t, 200, s.api(t, "GET", "/v1/sites", "").status, "the key's owner may share the address")
}

func TestTrackingIsActiveWhileEventsFlow(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	s := serve(t, Config{Store: st})
	active := func(s *service) bool {
		return strings.Contains(s.api(t, "GET", "/v1/sites/"+s.site.ID, "").body, `"tracking_active":true`)
	}
	assert.False(t, active(s), "no event yet")
	require.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}")).status)
	assert.True(t, active(s))
	assert.True(t, active(serve(t, Config{Store: st})), "a restart does not change it")

	s.site.Paused = true
	require.NoError(t, s.Account().ChangeSite(t.Context(), s.site))
	assert.False(t, active(s), "paused")

	now := time.Now()
	assert.True(t, s.activity.isRecent(s.site.ID, now.Add(23*time.Hour)))
	assert.False(t, s.activity.isRecent(s.site.ID, now.Add(25*time.Hour)))
}

func TestHeadIsAnsweredLikeGetWithoutABody(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	got := s.api(t, "HEAD", "/v1/sites", "")
	assert.Equal(t, 200, got.status)
	assert.Empty(t, got.body)
}
