package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// trackedService is a collector with one site, and a tracker with the default limits.
type trackedService struct {
	*service
	site, key string
	tracker   *footfall.Tracker
}

func startTracked(t *testing.T) *trackedService {
	t.Helper()
	s := startService(t, nil)
	site := addSite(t, s.account, "", "shop.example.com")
	key, _, err := s.account.IssueKey(t.Context(), "test")
	require.NoError(t, err)
	tracker, err := footfall.New(footfall.Config{BaseURL: s.url, APIKey: key, SiteID: site.ID})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, tracker.Close(t.Context())) })
	return &trackedService{s, site.ID, key, tracker}
}

// post sends an event without the library, and returns the status.
func (s *trackedService) post(t *testing.T, e *footfall.Event) int {
	t.Helper()
	props := make(map[string]any)
	for _, p := range e.Props {
		props[p.Key()] = p.Value()
	}
	body, err := json.Marshal(map[string]any{"site_id": s.site, "name": e.Name, "url": e.URL, "props": props})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/events", bytes.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// ofSize returns an event whose body has n bytes, with props of the longest text.
func ofSize(s *trackedService, n int) footfall.Event {
	e := footfall.Event{Name: "n", URL: "https://shop.example.com/"}
	left := n - len(`{"site_id":"`+s.site+`","name":"n","url":"https://shop.example.com/","props":{}}`) + len(",")
	for left > 0 {
		const around = len(`"000":"",`)
		text := min(left-around, 1500)
		if rest := left - around - text; rest > 0 && rest < around { // the last prop must fit
			text -= around
		}
		e.Props = append(e.Props, footfall.P(fmt.Sprintf("%03d", len(e.Props)), strings.Repeat("v", text)))
		left -= text + around
	}
	return e
}

// boundary is the longest event of a kind that is accepted, and one that is beyond.
type boundary struct {
	within, beyond footfall.Event
	field          string
}

func boundaries(s *trackedService) map[string]boundary {
	event := func(name, url string, props ...footfall.Prop) footfall.Event {
		return footfall.Event{Name: name, URL: url, Props: props}
	}
	named := func(name string) footfall.Event { return event(name, "https://shop.example.com/") }
	at := func(url string) footfall.Event { return event("n", url) }
	with := func(props ...footfall.Prop) footfall.Event { return event("n", "https://shop.example.com/", props...) }
	key := func(key string) footfall.Event { return with(footfall.P(key, 1)) }
	text := func(text string) footfall.Event { return with(footfall.P("k", text)) }
	many := func(n int) (props []footfall.Prop) {
		for i := range n {
			props = append(props, footfall.P(fmt.Sprint("k", i), i))
		}
		return props
	}
	long := func(n int, begin string) string { return begin + strings.Repeat("x", n-len(begin)) }
	const page = "https://shop.example.com/"
	return map[string]boundary{
		"a name":                     {named(long(store.MaxName, "")), named(long(store.MaxName+1, "")), "name"},
		"a name of two bytes each":   {named(strings.Repeat("ü", store.MaxName)), named(strings.Repeat("ü", store.MaxName+1)), "name"},
		"a name of four bytes each":  {named(strings.Repeat("😀", store.MaxName)), named(strings.Repeat("😀", store.MaxName) + "x"), "name"},
		"a name with a NUL":          {named("n\x01"), named("n\x00"), "name"},
		"a name of white space":      {named(" n "), named(" \u2003\n"), "name"},
		"a URL":                      {at(long(store.MaxURL, page)), at(long(store.MaxURL+1, page)), "url"},
		"a URL of two bytes each":    {at(long(store.MaxURL, page+"ü")), at(long(store.MaxURL, page+"ü") + "x"), "url"},
		"a URL with a query":         {at(long(store.MaxURL, page+"?q=")), at(long(store.MaxURL+1, page+"?q=")), "url"},
		"a fragment with a control":  {at(page + "#ü"), at(page + "#\x7f"), "url"},
		"a number of props":          {with(many(store.MaxProps)...), with(many(store.MaxProps + 1)...), "props"},
		"props of which some repeat": {with(append(many(store.MaxProps), many(3)...)...), with(append(many(store.MaxProps+1), many(3)...)...), "props"},
		"a key":                      {key(long(store.MaxPropKey, "")), key(long(store.MaxPropKey+1, "")), "props["},
		"a key of two bytes each":    {key(strings.Repeat("ü", store.MaxPropKey/2)), key(strings.Repeat("ü", store.MaxPropKey/2) + "x"), "props["},
		"a key with a quote":         {key(long(store.MaxPropKey, `"\`)), key(long(store.MaxPropKey+1, `"\`)), "props["},
		"a key with a NUL":           {key("k\x01"), key("k\x00"), "props["},
		"an empty key":               {key(" "), key(""), "props"},
		"a text":                     {text(long(store.MaxPropText, "")), text(long(store.MaxPropText+1, "")), "props["},
		"a text of two bytes each":   {text(strings.Repeat("ü", store.MaxPropText/2)), text(strings.Repeat("ü", store.MaxPropText/2) + "x"), "props["},
		"a text with line breaks":    {text(strings.Repeat("\n", store.MaxPropText)), text(strings.Repeat("\n", store.MaxPropText+1)), "props["},
		"a text with a NUL":          {text("\x01"), text("\x00"), "props["},
		"the whole event":            {ofSize(s, store.MaxBody), ofSize(s, store.MaxBody+1), "event"},
	}
}

// The library and the collector do not share code, so nothing else keeps their limits equal.
func TestTheLimitsOfTheLibraryAreThoseOfTheCollector(t *testing.T) {
	s := startTracked(t)
	client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: s.url, APIKey: s.key})
	require.NoError(t, err)
	delivered := uint64(0)
	for name, b := range boundaries(s) {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, http.StatusAccepted, s.post(t, &b.within))
			require.NoError(t, s.tracker.TrackEvent(t.Context(), b.within))
			require.NoError(t, s.tracker.Flush(t.Context()))
			delivered++
			assert.Equal(t, footfall.Stats{Tracked: delivered, Delivered: delivered, Invalid: delivered - 1}, s.tracker.Stats())

			status := s.post(t, &b.beyond)
			assert.True(t, status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity, "%d", status)
			b.beyond.SiteID = s.site
			for call, err := range map[string]error{
				"TrackEvent": s.tracker.TrackEvent(t.Context(), b.beyond),
				"Send":       client.Send(t.Context(), b.beyond),
			} {
				var refused *footfall.FieldError
				require.ErrorAs(t, err, &refused, call)
				assert.True(t, strings.HasPrefix(refused.Field, b.field), "%s: %s", call, refused.Field)
				assert.NotEmpty(t, refused.Reason)
			}
		})
	}
}

// A client chooses the path and its headers. Whatever they are, the collector accepts the event.
func TestTheCollectorRefusesNoEventOfAnyRequest(t *testing.T) {
	s := startTracked(t)
	mux := http.NewServeMux()
	begin := "GET /" + strings.Repeat("a_route_that_is_long/", 20)
	for _, route := range []string{begin + "one", begin + "two/", "GET /files/{name}", "GET /{path...}"} {
		mux.HandleFunc(route, func(http.ResponseWriter, *http.Request) {})
	}
	rules := []footfall.Rule{
		{Route: "GET /files/{name}", PathProps: []string{"name"}, Page: footfall.PageReferer},
		{Route: footfall.AnyRoute},
	}
	require.NoError(t, s.tracker.CheckRules(mux, rules...))
	site := httptest.NewServer(s.tracker.Middleware(rules...)(mux))
	defer site.Close()
	paths := []string{
		strings.TrimPrefix(begin, "GET ") + "one", strings.TrimPrefix(begin, "GET ") + "two/three", "/files/" + strings.Repeat("x", 5000),
		"/files/%00%ff" + strings.Repeat("%C3%BC", 1500), "/" + strings.Repeat("x", 5000), "/" + strings.Repeat("x/", 5000), "/?utm_source=" + strings.Repeat("%00", 3000),
	}
	for _, path := range paths {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+path, nil)
		require.NoError(t, err)
		r.Host = "shop.example.com"
		r.Header.Set("Referer", "https://shop.example.com/"+strings.Repeat("r", 5000)+"#r")
		resp, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	require.NoError(t, s.tracker.Flush(t.Context()))
	n := uint64(len(paths))
	stats := s.tracker.Stats()
	assert.Equal(t, []uint64{n, n, 0, 0}, []uint64{stats.Tracked, stats.Delivered, stats.Rejected, stats.Invalid})
	now := time.Now()
	rows, err := storetest.Top(t.Context(), s.store, store.Query{Site: s.site, From: now.Add(-time.Hour), To: now.Add(time.Hour)}, store.Names, 100)
	require.NoError(t, err)
	assert.Len(t, rows, 4, "a name for each route: %v", rows)
}
