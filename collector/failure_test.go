package collector

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// refusal is a refused request and the expected answer.
type refusal struct {
	method, path, body string
	header             []string
	status             int
	code, message      string
}

func badEvent(body, message string) refusal {
	return refusal{"POST", "/v1/events", body, nil, 400, "validation_failed", message}
}

// refusals returns every failure of the API that a request can cause.
func refusals(s *service) map[string]refusal {
	event := func(name, url, props, message string) refusal {
		return badEvent(s.event(name, url, props), message)
	}
	prop := func(value, message string) refusal { return event("x", pageURL, `{"k":`+value+`}`, message) }
	head := `{"site_id":"` + s.site.ID + `","name":"x","url":"` + pageURL + `"`
	long := strings.Repeat("x", 5000)
	props := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, `"k`+strconv.Itoa(i)+`":1`)
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	post := func(status int, code, message string, header ...string) refusal {
		return refusal{"POST", "/v1/events", head + "}", header, status, code, message}
	}
	all := map[string]refusal{
		"unknown path":         {"GET", "/v1/other", "", nil, 404, "not_found", `there is no such path: "/v1/other"`},
		"root of the API":      {"GET", "/v1", "", nil, 404, "not_found", `there is no such path: "/v1"`},
		"trailing slash":       {"GET", "/v1/sites/", "", nil, 404, "not_found", `there is no such path: "/v1/sites/"`},
		"below a site":         {"GET", "/v1/sites/a/b", "", nil, 404, "not_found", `there is no such path: "/v1/sites/a/b"`},
		"unknown site":         {"GET", "/v1/sites/site_none", "", nil, 404, "not_found", `there is no site with the id "site_none"`},
		"POST of sites":        {"POST", "/v1/sites", "{}", nil, 405, "method_not_allowed", "this path accepts GET"},
		"DELETE of a site":     {"DELETE", "/v1/sites/" + s.site.ID, "", nil, 405, "method_not_allowed", "this path accepts GET"},
		"GET of events":        {"GET", "/v1/events", "", nil, 405, "method_not_allowed", "this path accepts POST"},
		"event of no site":     {"POST", "/v1/events", strings.Replace(head, s.site.ID, "nope", 1) + "}", nil, 404, "not_found", `there is no site with the id "nope"`},
		"event of a long site": {"POST", "/v1/events", strings.Replace(head, s.site.ID, long, 1) + "}", nil, 404, "not_found", `there is no site with the id "` + long[:80] + `"…`},

		"body too large": {"POST", "/v1/events", head + strings.Repeat(" ", store.MaxBody) + "}", nil, 413, "payload_too_large", "body: larger than 32768 bytes"},
		"no media type":  post(415, "unsupported_media_type", `Content-Type: must be application/json, not ""`, "Content-Type", ""),
		"form":           post(415, "unsupported_media_type", `Content-Type: must be application/json, not "text/plain"`, "Content-Type", "text/plain"),
		"charset":        post(415, "unsupported_media_type", `Content-Type: must be application/json, not "application/json; charset=latin1"`, "Content-Type", "application/json; charset=latin1"),
		"compressed":     post(415, "unsupported_media_type", `Content-Encoding: send the body uncompressed, not as "gzip"`, "Content-Encoding", "gzip"),
		"long key":       post(400, "validation_failed", "Idempotency-Key: is longer than 255 bytes", "Idempotency-Key", strings.Repeat("k", 256)),
		"empty key":      post(400, "validation_failed", "Idempotency-Key: is empty", "Idempotency-Key", ""),
		"strange key":    post(400, "validation_failed", "Idempotency-Key: has a character that is not printable ASCII", "Idempotency-Key", "ä"),

		"empty body":        badEvent("", "body: must be a JSON object"),
		"array":             badEvent("["+head+"}]", "body: must be a JSON object"),
		"null":              badEvent("null", "body: must be a JSON object"),
		"cut short":         badEvent(head, "body: is not valid JSON at byte "+strconv.Itoa(len(head))),
		"trailing comma":    badEvent(head+",}", "body: is not valid JSON at byte "+strconv.Itoa(len(head)+1)),
		"two events":        badEvent(head+"} "+head+"}", "body: has data after the event"),
		"not UTF-8":         badEvent(strings.Replace(head, `"x"`, "\"\xff\"", 1)+"}", "body: is not valid UTF-8"),
		"unknown field":     badEvent(head+`,"prosp":{}}`, `body: has an unknown field: "prosp"`),
		"unnamed field":     badEvent(head+`,"":1}`, `body: has an unknown field: ""`),
		"field of browsers": badEvent(head+`,"r":"x"}`, `body: has an unknown field: "r"`),
		"name twice":        badEvent(head+`,"name":"y"}`, "name: appears twice"),
		"props twice":       badEvent(head+`,"props":{},"props":{}}`, "props: appears twice"),

		"site_id missing":  badEvent(`{"name":"x","url":"`+pageURL+`"}`, "site_id: is missing"),
		"site_id empty":    badEvent(`{"site_id":"","name":"x","url":"`+pageURL+`"}`, "site_id: is empty"),
		"site_id a number": badEvent(`{"site_id":1,"name":"x","url":"`+pageURL+`"}`, "site_id: must be a string"),
		"name missing":     badEvent(`{"site_id":"a","url":"`+pageURL+`"}`, "name: is missing"),
		"url missing":      badEvent(`{"site_id":"a","name":"x"}`, "url: is missing"),
		"name empty":       event("", pageURL, "{}", "name: is empty"),
		"name blank":       event(" \u00a0", pageURL, "{}", "name: is empty"),
		"name too long":    event(strings.Repeat("ä", 121), pageURL, "{}", "name: is longer than 120 characters"),
		"name with NUL":    event(`a\u0000`, pageURL, "{}", "name: contains a NUL character"),
		"name half a pair": event(`\ud83d`, pageURL, "{}", "name: contains an unpaired surrogate"),
		"name wrong pair":  event(`\ud83d\u0041`, pageURL, "{}", "name: contains an unpaired surrogate"),
		"name null":        badEvent(`{"site_id":"a","name":null,"url":"x"}`, "name: must be a string"),

		"url empty":       event("x", "", "{}", "url: is empty"),
		"url too long":    event("x", "https://a.example/"+long, "{}", "url: is longer than 2048 bytes"),
		"url relative":    event("x", "/basket", "{}", "url: is not absolute: it needs http:// or https:// and a host"),
		"url of a script": event("x", "javascript://a.example/", "{}", "url: has a scheme that is neither http nor https"),
		"url no host":     event("x", "https:///basket", "{}", "url: has no host"),
		"url only port":   event("x", "https://:80/", "{}", "url: has no host"),
		"url bad host":    event("x", "https://a b/", "{}", "url: has an invalid host"),
		"url password":    event("x", "https://u:p@a.example/", "{}", "url: contains a user name or password"),
		"url with a tab":  event("x", `https://a.example/\t`, "{}", "url: contains a control character"),

		"props null":         event("x", pageURL, "null", "props: must be a JSON object"),
		"props array":        event("x", pageURL, "[]", "props: must be a JSON object"),
		"props too many":     event("x", pageURL, props(101), "props: has more than 100 entries"),
		"key empty":          event("x", pageURL, `{"":1}`, `props[""]: has an empty key`),
		"key too long":       event("x", pageURL, `{"`+long[:301]+`":1}`, `props["`+long[:80]+`"…]: has a key longer than 300 bytes`),
		"key twice":          event("x", pageURL, `{"a":1,"\u0061":2}`, `props["a"]: appears twice`),
		"key not a string":   event("x", pageURL, `{1:1}`, "body: is not valid JSON at byte "+strconv.Itoa(len(head)+len(`,"props":{`))),
		"value too long":     prop(`"`+long[:2001]+`"`, `props["k"]: is longer than 2000 bytes`),
		"value true":         prop("true", `props["k"]: must be a string or a number`),
		"value null":         prop("null", `props["k"]: must be a string or a number`),
		"value object":       prop("{}", `props["k"]: must be a string or a number`),
		"value array":        prop("[1]", `props["k"]: must be a string or a number`),
		"value NUL":          prop(`"\u0000"`, `props["k"]: contains a NUL character`),
		"number infinite":    prop("1e999", `props["k"]: is a number out of range`),
		"number of digits":   prop(strings.Repeat("9", 400), `props["k"]: is a number out of range`),
		"number too long":    prop("0."+strings.Repeat("9", 2000), `props["k"]: is longer than 2000 bytes`),
		"number of no digit": prop("-", "body: is not valid JSON at byte "+strconv.Itoa(len(head)+len(`,"props":{"k":-`))),
		"number with a zero": prop("01", "body: is not valid JSON at byte "+strconv.Itoa(len(head)+len(`,"props":{"k":0`))),
	}
	return all
}

func TestEveryFailureHasTheErrorBody(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	rows := refusals(s)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) {
			row := rows[name]
			got := s.api(t, row.method, row.path, row.body, row.header...)
			message, _ := json.Marshal(row.message)
			assert.Equal(t, fmt.Sprintf(`{"error":%q,"message":%s,"status":%d}`, row.code, message, row.status), got.body)
			assert.Equal(t, row.status, got.status)
			assert.Equal(t, "application/json", got.header.Get("Content-Type"))
			if row.status == 405 {
				assert.Equal(t, strings.TrimPrefix(row.message, "this path accepts "), got.header.Get("Allow"))
			}
		})
	}
	assert.Empty(t, s.stored(t), "what is refused is not stored")
}

func TestPausedSiteRefusesEvents(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	s.site.Paused = true
	require.NoError(t, s.Account().ChangeSite(t.Context(), s.site))
	const want = `{"error":"site_paused","message":"tracking of the site \"shop.example.com\" is paused","status":409}`
	got := s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"))
	assert.Equal(t, http.StatusConflict, got.status)
	assert.Equal(t, want, got.body)
	assert.Equal(t, want, s.browse(t, pageview).body)
	assert.Empty(t, s.stored(t))
}

func TestSiteMayRefuseEventsOfOtherDomains(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	own := []string{
		"https://shop.example.com/a", "http://shop.example.com:8080/", "https://www.shop.example.com/", "https://SHOP.example.com/",
		"https://eu.shop.example.com/?a=1",
	}
	foreign := []string{
		"https://evil.example/", "https://example.com/", "https://evilshop.example.com/", "https://shop.example.com.evil.example/",
		"http://unknown.invalid/shop.example.com", "http://127.0.0.1/",
	}
	send := func(url string) answer { return s.api(t, "POST", "/v1/events", s.event("x", url, "{}")) }
	for _, url := range slices.Concat(own, foreign) {
		assert.Equal(t, http.StatusAccepted, send(url).status, "off by default: %s", url)
	}
	s.site.OwnPages = true
	require.NoError(t, s.Account().ChangeSite(t.Context(), s.site))
	for _, url := range own {
		assert.Equal(t, http.StatusAccepted, send(url).status, url)
	}
	for _, url := range foreign {
		got := send(url)
		assert.Equal(t, http.StatusBadRequest, got.status, url)
		assert.Equal(t, `{"error":"validation_failed","message":"url: is not on \"shop.example.com\"","status":400}`, got.body)
	}
	assert.Len(t, s.stored(t), 2*len(own)+len(foreign), "what is refused is not stored")
}

func TestBodyLargerThanAnnouncedIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	r, err := http.NewRequest("POST", s.url+"/v1/events", struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 1<<20))})
	require.NoError(t, err)
	r.ContentLength = -1 // chunked
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, 413, response.StatusCode)
}
