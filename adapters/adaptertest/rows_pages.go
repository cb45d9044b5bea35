package adaptertest

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// visit expects the page of the events of one request: by a rule, and by Track in the handler.
func (s *Stage) visit(r Request, want func() string) {
	s.Watch(Seen(s.Route("/page")))
	s.On("/page", func(c Context) error {
		assert.NoError(s, c.Track("in"))
		return Fine(c)
	})
	r.Path = "/page"
	status, said := s.Ask(r)
	assert.Equal(s, http.StatusOK, status, said)
	s.ExpectPage(want(), "in", "seen")
}

// own returns the page of the request.
func (s *Stage) own() string { return s.URL("/page") }

func pageOverTLSIsHTTPS(s *Stage) {
	lent := httptest.NewTLSServer(nil) // its certificate and its client
	defer lent.Close()
	s.secure = &tls.Config{Certificates: lent.TLS.Certificates}
	s.trusted = lent.Client().Transport.(*http.Transport).TLSClientConfig
	s.visit(Request{}, s.own)
	assert.Contains(s, s.base, "https://")
}

func pageIsThePublicOne(s *Stage) {
	trust := func(proxy string) func(*footfall.Config) {
		return func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(proxy)} }
	}
	for name, tt := range map[string]struct {
		change func(*footfall.Config)
		want   string // "" is the page of the request
	}{
		"PublicURL":            {func(c *footfall.Config) { c.PublicURL = "https://www.example.com/api" }, "https://www.example.com/api"},
		"a trusted proxy":      {trust("127.0.0.0/8"), "https://shop.example.com"},
		"another proxy":        {trust("192.0.2.0/24"), ""},
		"no proxy is trusted":  {func(*footfall.Config) {}, ""},
		"the client tells one": {trust("127.0.0.0/8"), "https://shop.example.com"},
	} {
		s.Run(name, func(t *testing.T) {
			t.Parallel()
			s, header := s.Another(t, tt.change), forwarded("shop.example.com")
			if name == "the client tells one" {
				header = append([]string{"X-Forwarded-Proto", "http", "X-Forwarded-Host", "client.example.com"}, header...)
			}
			s.visit(Request{Header: header}, func() string {
				if tt.want == "" {
					return s.own()
				}
				return tt.want + s.Service + "/page"
			})
		})
	}
}

func pageIsTheConfigured(s *Stage) {
	const app = "https://app.example.com/editor?utm_source=mail"
	referer, header := []string{"Referer", app}, []string{"X-Page", app}
	for name, tt := range map[string]struct {
		source footfall.PageSource
		header []string
		want   string // "" is the page of the request
	}{
		"the Referer":                    {footfall.PageReferer, referer, app},
		"no Referer":                     {footfall.PageReferer, nil, ""},
		"a Referer of another host":      {footfall.PageReferer, []string{"Referer", "https://evil.example/x"}, ""},
		"the Referer is not asked for":   {0, referer, ""},
		"the header":                     {0, header, app},
		"the header before the Referer":  {footfall.PageReferer, append(header, "Referer", "https://app.example.com/"), app},
		"the header with another host":   {0, []string{"X-Page", "https://evil.example/x"}, ""},
		"the route, which is the page's": {footfall.PageRoute, nil, ""},
	} {
		s.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.Another(t, func(c *footfall.Config) {
				c.Page, c.PageHeader, c.Hosts = tt.source, "X-Page", []string{"127.0.0.1", "app.example.com"}
			})
			s.visit(Request{Header: tt.header}, func() string { return cmp.Or(tt.want, s.own()) })
		})
	}
}

func hostsCostNoEvent(s *Stage) {
	shop := []string{"shop.example.com", "*.shop.example.com"}
	for _, tt := range []struct {
		host      string
		hosts     []string // of the Config
		want      string
		sanitized uint64
	}{
		{"evil.example", nil, "evil.example", 0},
		{"bad$host!", nil, "unknown.invalid", 2},
		{"bad$host!", shop, "shop.example.com", 2},
		{"evil.example", shop, "shop.example.com", 2},
		{"eu.shop.example.com", shop, "eu.shop.example.com", 0},
	} {
		s.Run(fmt.Sprintf("%s of %q", tt.host, tt.hosts), func(t *testing.T) {
			t.Parallel()
			var log footfalltest.Log
			s := s.Another(t, func(c *footfall.Config) { c.Hosts, c.Logger = tt.hosts, log.Logger() })
			s.visit(Request{Host: tt.host}, func() string { return "http://" + tt.want + s.Service + "/page" })
			assert.Equal(s, tt.sanitized, s.Tracker.Stats().Sanitized)
			_ = s.Tracker.Close(t.Context())
			assert.Empty(s, log.String())
		})
	}
}

// footfall.Track may not know the route: see the row of footfalltest.
func trackKnowsTheRoute(s *Stage) {
	for path, want := range map[string][2]string{ // with PagePath, and with PageRoute
		"/accounts/reset/k3y":       {"/accounts/reset/%7Bkey%7D", "/accounts/reset/%7Bkey%7D"},
		"/users/ada@example.com/me": {"/users/%7Bname%7D/me", "/users/%7Bname%7D/me"},
		"/users/ada/me":             {"/users/ada/me", "/users/%7Bname%7D/me"},
	} {
		for i, source := range []footfall.PageSource{footfall.PagePath, footfall.PageRoute} {
			s.Run(fmt.Sprintf("%s, page %d", path, source), func(t *testing.T) {
				t.Parallel()
				s := s.Another(t, func(c *footfall.Config) { c.Page = source })
				s.Watch(Seen(footfall.AnyRoute))
				track := func(c Context) error {
					assert.NoError(s, c.Track("tracked"))
					return Fine(c)
				}
				s.App.Handle([]string{"/accounts"}, "GET", s.Pattern("/reset/{key}"), track)
				s.App.Handle([]string{s.Pattern("/users/{name}")}, "GET", "/me", track)
				s.Get(path)
				s.ExpectPage(s.URL(want[i]), "tracked", "seen")
			})
		}
	}
}

// pageOutlivesBuffers sends requests on one connection, whose buffers a framework uses again.
func pageOutlivesBuffers(s *Stage) {
	s.Watch()
	kept := make(chan context.Context, 1)
	s.On("/kept/{id}", func(c Context) error {
		kept <- c.Context()
		return Fine(c)
	})
	s.On("/other/{rest...}", Fine)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.open(), "http://"))
	require.NoError(s, err)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for _, path := range []string{"/kept/0123456789?ref=abcdef", "/other/xxxxxxxxxxxxxxxxxxxx?ref=yyyyyyyy", "/other/zzzzzzzz"} {
		_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop-%d.example.com\r\n\r\n", path, len(path))
		require.NoError(s, err)
		answer, err := http.ReadResponse(answers, nil)
		require.NoError(s, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(s, err)
	}
	conn.Close()
	s.Stop()
	require.NoError(s, footfall.Track(<-kept, "afterwards"))
	s.ExpectPage("http://shop-27.example.com/kept/0123456789?ref=abcdef", "afterwards")
}

func requestAboveIsAsWithout(s *Stage) {
	type key struct{}
	var came, after *http.Request
	s.App.Use(func(c Context, next func() error) error {
		came = c.Request()
		err := next()
		after = c.Request()
		return err
	})
	s.Watch()
	s.On("/changed", func(c Context) error {
		assert.NotSame(s, came, c.Request())
		assert.Equal(s, "2", c.Request().FormValue("n"))
		c.Request().Method = "PUT"
		c.Request().Host = "elsewhere.example.com"
		return Fine(c)
	})
	s.On("/fails", func(c Context) error {
		assert.Equal(s, "2", c.Request().FormValue("n"))
		return c.Fail(http.StatusConflict)
	})
	s.On("/replaced", func(c Context) error {
		c.SetContext(context.WithValue(c.Context(), key{}, "below"))
		return Fine(c)
	})

	s.Get("/changed?n=2")
	assert.Same(s, came, after)
	assert.Equal(s, "2", after.Form.Get("n"))
	assert.Equal(s, "PUT", after.Method)
	assert.Equal(s, "elsewhere.example.com", after.Host)

	s.Get("/fails?n=2")
	assert.Equal(s, "2", came.Form.Get("n"))

	s.Get("/replaced")
	assert.Equal(s, "below", after.Context().Value(key{}), "the request that a handler put in was taken away")
}

// prefetches are requests whose answers no visitor sees.
var prefetches = map[string]Request{
	"Sec-Purpose": {Header: []string{"Sec-Purpose", "prefetch"}},
	"Purpose":     {Header: []string{"Purpose", "prefetch"}},
	"X-Moz":       {Header: []string{"X-Moz", "prefetch"}},
}

// skipped are requests that skip selects, each for another reason.
var skipped = map[string]Request{
	"a header":               {Header: []string{"User-Agent", "a bot"}},
	"a header, and it fails": {Header: []string{"User-Agent", "a bot"}, Path: "/fails"},
	"the header DNT":         {Header: []string{"DNT", "1"}},
	"the header Sec-GPC":     {Header: []string{"Sec-GPC", "1"}},
	"a cookie":               {Header: []string{"Cookie", "staff=1"}},
	"the path":               {Path: "/skipped"},
	"the method":             {Method: "PUT"},
	"the host":               {Host: "staff.example.com"},
}

func skip(r *http.Request) bool {
	return strings.Contains(r.UserAgent(), "bot") || r.Header.Get("DNT") == "1" || r.Header.Get("Sec-GPC") == "1" ||
		r.Header.Get("Cookie") == "staff=1" || r.URL.Path == "/skipped" || r.Method == "PUT" || r.Host == "staff.example.com" ||
		!strings.HasPrefix(r.RemoteAddr, "127.0.0.1:")
}

func skipSeesTheRequest(s *Stage) {
	all := maps.Clone(prefetches)
	maps.Copy(all, skipped)
	expectVisitsOnly(s.Another(s.T, func(c *footfall.Config) { c.Skip = skip }), all)
}

func headersAreSeenWithoutSkip(s *Stage) { expectVisitsOnly(s, prefetches) }

// expectVisitsOnly sends requests that make no event, and two that make one. The second of
// these fails.
func expectVisitsOnly(s *Stage, none map[string]Request) {
	s.Watch(footfall.Rule{Route: footfall.AnyRoute, Event: "seen", Page: footfall.PageReferer})
	for _, method := range []string{"GET", "PUT"} {
		s.App.Handle(nil, method, s.Pattern("/{page}"), func(c Context) error {
			if c.Param("page") == "fails" {
				return c.Fail(http.StatusConflict)
			}
			return Fine(c)
		})
	}
	for name, r := range none {
		r.Path = cmp.Or(r.Path, "/page")
		status, _ := s.Ask(r)
		assert.Contains(s, []int{http.StatusOK, http.StatusConflict}, status, name)
		assert.Empty(s, s.Tracker.Names(), name)
	}
	browser := []string{"Referer", "https://shop.example.com/basket?token=x", "User-Agent", "a browser"}
	s.Get("/page", browser...)
	s.Get("/fails", browser...)
	s.ExpectPage("https://shop.example.com/basket", "seen", "seen")
}
