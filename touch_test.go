package footfall_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// touching returns a navigation to a page, from a referrer or "".
func touching(page, referrer string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, page, nil)
	r.Header.Set("Accept", "text/html")
	if referrer != "" {
		r.Header.Set("Referer", referrer)
	}
	return r
}

func TestATouchIsTheCampaignAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := "at=946684800&landing="
		for from, want := range map[[2]string]string{
			{"https://shop.example.com/hats?utm_source=news&utm_medium=mail&utm_campaign=a+b&utm_term=t&gclid=1&token=x"}: at + "%2Fhats&utm_source=news&utm_medium=mail&utm_campaign=a+b",
			{"https://shop.example.com/?ref=partner", "https://other.example/"}:                                           at + "%2F&ref=partner",
			{"https://shop.example.com/", "https://www.Other.example:8443/search?q=secret"}:                               at + "%2F&ref=other.example",
			{"https://www.shop.example.com/", "https://shop.example.com/cart"}:                                            at + "%2F",
			{"https://shop.example.com/", "android-app://com.example.app/"}:                                               at + "%2F&ref=com.example.app",
			{"https://shop.example.com/u/ada@example.com?utm_source=ada@example.com&utm_medium=mail", "%"}:                at + "%2Fu%2F%255Bredacted%255D&utm_medium=mail",
			{"https://shop.example.com/p?utm_source=%00&utm_campaign=%ff&utm_medium=%zz"}:                                 at + "%2Fp",
			{"https://shop.example.com/p?utm_source=" + strings.Repeat("%C3%A9", 99)}:                                     at + "%2Fp&utm_source=" + strings.Repeat("%C3%A9", 20),
			{"https://shop.example.com/a/" + strings.Repeat("b/", 300)}:                                                   at + "%2Fa%2F" + strings.Repeat("b%2F", 98),
		} {
			touch := footfall.TouchOf(touching(from[0], from[1]))
			assert.Equal(t, want, touch.String(), from)
			assert.Equal(t, touch, footfall.ParseTouch(touch.String()))
			assert.Equal(t, !strings.Contains(want, "utm_") && !strings.Contains(want, "ref="), touch.IsDirect())
		}
		assert.True(t, footfall.TouchOf(nil).IsZero())
		assert.Empty(t, footfall.Touch{}.String())
		assert.True(t, footfall.ParseTouch("utm_source=a&x="+strings.Repeat("x", 1024)).IsZero())
	})
}

// Whatever a client sends or writes into its session, a touch is bounded and printable, and its text means itself.
func TestATouchIsBoundedAndPrintable(t *testing.T) {
	t.Parallel()
	pieces := []string{"utm_source=", "utm_medium=", "utm_campaign=", "ref=", "landing=", "at=", "&", "%", "é", "\x00", "%C3", "a", "/", "//x", "=", "+", "1", "-", "ada@example.com", strings.Repeat("z", 200), strings.Repeat("%C3%A9", 60), "?", "#", ";", "\""}
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var text strings.Builder
		for range r.IntN(12) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		request := &http.Request{Method: http.MethodGet, Host: "shop.example.com", Header: http.Header{"Referer": {"https://" + text.String()}}, URL: &url.URL{Path: "/" + text.String(), RawQuery: text.String()}}
		for _, touch := range []footfall.Touch{footfall.ParseTouch(text.String()), footfall.TouchOf(request)} {
			got := touch.String()
			require.LessOrEqual(t, len(got), 1024)
			require.NotContains(t, got, "ada")
			for _, b := range []byte(got) {
				require.True(t, b > ' ' && b < 0x7f, "%q", got)
			}
			require.Equal(t, got, footfall.ParseTouch(got).String(), "seed %d", seed)
		}
	}
}

func TestTheURLOfAnEventHasTheCampaignOfItsTouch(t *testing.T) {
	t.Parallel()
	touch := footfall.TouchOf(touching("https://shop.example.com/hats?utm_source=news&utm_campaign=spring", "https://other.example/"))
	campaign := "utm_source=news&utm_campaign=spring&ref=other.example"
	tracker := footfalltest.New(t, quiet, func(c *footfall.Config) {
		c.DefaultURL, c.LandingProp, c.Limits.URL = "https://shop.example.com/worker", "landing", 512
	})
	var wants []string
	long := "https://shop.example.com/" + strings.Repeat("x", 460)
	for given, want := range map[string]string{
		"":                               "https://shop.example.com/worker?" + campaign,
		"https://shop.example.com":       "https://shop.example.com?" + campaign,
		"https://shop.example.com/a?b=1": "https://shop.example.com/a?b=1&" + campaign,
		"https://shop.example.com/a?#f":  "https://shop.example.com/a?" + campaign + "#f",
		"https://shop.example.com/a?utm_medium=m#f": "https://shop.example.com/a?utm_medium=m#f",
		"https://shop.example.com/a?ref=r":          "https://shop.example.com/a?ref=r",
		"https://shop.example.com/a?preref=r":       "https://shop.example.com/a?preref=r&" + campaign,
		"https://shop.example.com/é\"?b=\"":         "https://shop.example.com/é\"?b=\"&" + campaign,
		long:                                        long + "?utm_source=news",
	} {
		ctx := footfall.WithTouch(t.Context(), touch)
		require.NoError(t, tracker.TrackEvent(ctx, footfall.Event{Name: "x", URL: given}), given)
		wants = append(wants, want)
		if given != "" {
			wants = append(wants, want)
			require.NoError(t, tracker.Track(footfall.WithURL(ctx, given), "x", footfall.P("landing", "own")))
		}
	}
	for i, e := range tracker.Events() {
		assert.Equal(t, wants[i], e.URL)
		assert.Contains(t, []any{"/hats", "own"}, e.Props["landing"])
	}
	ctx := footfall.WithProps(footfall.WithTouch(t.Context(), touch), footfall.P("landing", "own"))
	require.NoError(t, tracker.Track(ctx, "x"))
	assert.Equal(t, uint64(len(tracker.Events())), tracker.Stats().Tracked)
	assert.Equal(t, map[string]any{"landing": "own"}, tracker.Events()[len(wants)].Props)
	encoded, err := tracker.Encode(ctx, footfall.Event{Name: "x"})
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(encoded.Body), `"landing"`))
	assert.EqualError(t, tracker.TrackEvent(footfall.WithTouch(t.Context(), touch), footfall.Event{Name: "x", URL: "/p"}), "footfall: url: not absolute: it needs http:// or https:// and a host")
	none := footfalltest.New(t, quiet, func(c *footfall.Config) { c.DefaultURL = "" })
	assert.ErrorIs(t, none.Track(footfall.WithTouch(t.Context(), touch), "x"), footfall.ErrNoURL)
}

func TestATouchAppliesToRulesAndRequestsAndBelowBeforeSend(t *testing.T) {
	t.Parallel()
	touch := footfall.ParseTouch("utm_source=news&landing=/hats")
	var seen []string
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.LandingProp = "landing"
		c.BeforeSend = func(e footfall.Event) (footfall.Event, bool) { seen = append(seen, e.URL); return e, true }
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, footfall.Track(r.Context(), "tracked"))
		assert.NoError(t, footfall.Track(footfall.WithTouch(r.Context(), footfall.Touch{}), "hidden"))
		assert.NoError(t, tracker.TrackRequest(r, "request"))
	})
	r := touching("https://shop.example.com/p", "")
	handler := tracker.Middleware(footfall.Rule{Route: "GET /p", Event: "rule"})(mux)
	handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(footfall.WithProps(footfall.WithTouch(r.Context(), touch), footfall.P("a", 1))))
	with := "https://shop.example.com/p?utm_source=news"
	assert.Equal(t, []string{with, "https://shop.example.com/p", with, with}, seen)
	for i, e := range tracker.Events() {
		assert.Equal(t, seen[i], e.URL)
		assert.Equal(t, e.Name != "hidden", e.Props["landing"] == "/hats", e.Name)
	}
}

// sessions is a TouchStore of one session, which counts what is written.
type sessions struct {
	text  string
	sets  int
	panic bool
}

func (s *sessions) Touch(*http.Request) string { return s.text }

func (s *sessions) SetTouch(_ http.ResponseWriter, _ *http.Request, text string) {
	if s.panic {
		panic("no session")
	}
	s.text, s.sets = text, s.sets+1
}

// visited returns the campaigns of the events of requests, a day apart.
func visited(t *testing.T, store *sessions, o footfall.TouchOptions, requests ...*http.Request) (sources []string) {
	t.Helper()
	tracker := footfalltest.New(t)
	handler := tracker.KeepTouch(store, o)(tracker.Middleware(footfall.Rule{Route: footfall.AnyRoute})(muxOf("GET /", "POST /")))
	for _, r := range requests {
		handler.ServeHTTP(httptest.NewRecorder(), r)
		time.Sleep(24 * time.Hour)
	}
	for _, e := range tracker.Events() {
		u, err := url.Parse(e.URL)
		require.NoError(t, err)
		sources = append(sources, u.Query().Get("utm_source")+u.Query().Get("ref"))
	}
	return sources
}

func TestTheFirstOrTheLastTouchOfAVisitorIsKept(t *testing.T) {
	page := func(source string) *http.Request {
		if source == "" {
			return touching("https://shop.example.com/", "")
		}
		return touching("https://shop.example.com/?utm_source="+source, "")
	}
	post := httptest.NewRequest(http.MethodPost, "https://shop.example.com/?utm_source=posted", nil)
	image := touching("https://shop.example.com/?utm_source=image", "")
	image.Header.Set("Sec-Fetch-Dest", "image")
	prefetch := touching("https://shop.example.com/?utm_source=prefetch", "")
	prefetch.Header.Set("Sec-Purpose", "prefetch")
	from := func(host string) *http.Request { return touching("https://shop.example.com/", "https://"+host+"/") }
	own := func(r *http.Request) *http.Request { // its URL names no campaign
		r.URL.RawQuery = ""
		return r
	}
	for name, tc := range map[string]struct {
		options  footfall.TouchOptions
		requests []*http.Request
		want     []string
		sets     int
	}{
		"last":                        {footfall.TouchOptions{}, []*http.Request{page("a"), page(""), page("b"), page("")}, []string{"a", "a", "b", "b"}, 2},
		"first":                       {footfall.TouchOptions{First: true}, []*http.Request{page("a"), page("b"), page("")}, []string{"a", "b", "a"}, 1},
		"a direct one":                {footfall.TouchOptions{First: true}, []*http.Request{page(""), page("a"), page("b"), page("")}, []string{"", "a", "b", "a"}, 2},
		"the window":                  {footfall.TouchOptions{Window: 36 * time.Hour}, []*http.Request{page("a"), page(""), page("")}, []string{"a", "a", ""}, 2},
		"no navigations":              {footfall.TouchOptions{}, []*http.Request{post, image, prefetch, page("")}, []string{"posted", "image", ""}, 1},
		"a referrer after a campaign": {footfall.TouchOptions{}, []*http.Request{page("a"), from("pay.example"), page("")}, []string{"a", "a", "a"}, 1},
		"a ref after a campaign":      {footfall.TouchOptions{}, []*http.Request{page("a"), touching("https://shop.example.com/?ref=b", ""), page("")}, []string{"a", "b", "b"}, 2},
		"a referrer after another":    {footfall.TouchOptions{}, []*http.Request{from("a.example"), from("b.example"), page("")}, []string{"a.example", "b.example", "b.example"}, 2},
		"posts of a visit":            {footfall.TouchOptions{}, []*http.Request{page("a"), own(post.Clone(context.Background()))}, []string{"a", "a"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &sessions{}
				assert.Equal(t, tc.want, visited(t, store, tc.options, tc.requests...))
				assert.Equal(t, tc.sets, store.sets)
			})
		})
	}
}

// Behind a proxy the host of the request is another one than the visitor sees.
func TestAReferrerOnAnOwnHostBehindAProxyIsNoTouch(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*footfall.Config){
		"PublicURL":      func(c *footfall.Config) { c.PublicURL = "https://www.shop.example.com/base" },
		"Hosts":          func(c *footfall.Config) { c.Hosts = []string{"shop.example.com", "*.example.net"} },
		"TrustedProxies": func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} },
	} {
		store := &sessions{}
		keep := footfalltest.New(t, change).KeepTouch(store, footfall.TouchOptions{})(muxOf("GET /"))
		for _, referrer := range []string{"https://shop.example.com/cart", "https://Shop.example.com:8443/", "https://other.example/"} {
			r := touching("http://10.0.0.1:8080/", referrer)
			r.Header.Set("X-Forwarded-Host", "shop.example.com")
			keep.ServeHTTP(httptest.NewRecorder(), r)
			assert.Equal(t, referrer == "https://other.example/", !footfall.ParseTouch(store.text).IsDirect(), "%s: %s", name, referrer)
		}
	}
}

func TestKeepTouchLeavesTheApplicationAlone(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	var form *http.Request
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form = r
		_ = r.ParseForm()
		fmt.Fprint(w, "answered")
	})
	for name, with := range map[string]func(http.Handler) http.Handler{
		"a store that panics": tracker.KeepTouch(&sessions{panic: true}, footfall.TouchOptions{}),
		"a store":             tracker.KeepTouch(&sessions{}, footfall.TouchOptions{}),
		"no store":            tracker.KeepTouch(nil, footfall.TouchOptions{}),
		"no tracker":          (*footfall.Tracker)(nil).KeepTouch(&sessions{}, footfall.TouchOptions{}),
	} {
		w, r := httptest.NewRecorder(), touching("https://shop.example.com/?a=1", "")
		with(next).ServeHTTP(w, r)
		assert.Equal(t, "answered", w.Body.String(), name)
		assert.NotNil(t, form, name)
		assert.Equal(t, "1", r.Form.Get("a"), "%s: what the handler parsed is seen above", name)
	}
	assert.PanicsWithValue(t, "oops", func() {
		tracker.KeepTouch(&sessions{}, footfall.TouchOptions{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") })).ServeHTTP(httptest.NewRecorder(), touching("/", ""))
	})
}

// A handler that passes the touch on passes what its own events have, and none that is too old.
func TestTouchFromIsTheTouchOfTheEventsBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sessions{}
		var seen []footfall.Touch
		handler := footfalltest.New(t).KeepTouch(store, footfall.TouchOptions{})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			seen = append(seen, footfall.TouchFrom(r.Context()))
		}))
		order := httptest.NewRequest(http.MethodPost, "https://shop.example.com/orders", nil)
		handler.ServeHTTP(httptest.NewRecorder(), order)
		handler.ServeHTTP(httptest.NewRecorder(), touching("https://shop.example.com/?utm_source=letter", ""))
		handler.ServeHTTP(httptest.NewRecorder(), order)
		time.Sleep(40 * 24 * time.Hour)
		handler.ServeHTTP(httptest.NewRecorder(), order)
		kept := footfall.ParseTouch(store.text)
		require.False(t, kept.IsDirect())
		assert.Equal(t, []footfall.Touch{{}, kept, kept, {}}, seen)
		assert.Equal(t, kept, footfall.TouchFrom(footfall.WithTouch(t.Context(), kept)))
	})
	assert.Zero(t, footfall.TouchFrom(t.Context()))
}
