package collector

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

const (
	domain  = "shop.example.com"
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}

// service is a Collector on a loopback socket, with a site and a key.
type service struct {
	*Collector
	url  string
	key  string
	site account.Site
}

// serve starts a service that ends with the test.
func serve(t testing.TB, cfg Config) *service {
	t.Helper()
	s := prepare(t, cfg)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.url = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return s
}

// prepare returns a service without a socket.
func prepare(t testing.TB, cfg Config) *service {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = storetest.NewReference()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	s := &service{Collector: c}
	if all := c.Account().Sites(); len(all) > 0 {
		s.site = all[0]
	} else {
		s.site, err = c.Account().AddSite(t.Context(), "Shop", domain)
		require.NoError(t, err)
	}
	s.key, _, err = c.Account().IssueKey(t.Context(), "test")
	require.NoError(t, err)
	return s
}

// answer is an HTTP response.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request; header lists names and values in turn.
func (s *service) do(t testing.TB, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(text)}
}

// api sends a request with the key, as JSON.
func (s *service) api(t testing.TB, method, path, body string, header ...string) answer {
	t.Helper()
	header = append([]string{"Authorization", "Bearer " + s.key, "Content-Type", "application/json"}, header...)
	return s.do(t, method, path, body, header...)
}

// browse sends an event as a browser does.
func (s *service) browse(t testing.TB, body string, header ...string) answer {
	t.Helper()
	header = append([]string{"Content-Type", "text/plain;charset=UTF-8", "User-Agent", firefox, "Origin", "https://" + domain}, header...)
	return s.do(t, "POST", "/e", body, header...)
}

// event returns the body of an event.
func (s *service) event(name, url, props string) string {
	return `{"site_id":"` + s.site.ID + `","name":"` + name + `","url":"` + url + `","props":` + props + `}`
}

const (
	pageURL  = "https://shop.example.com/basket"
	pageview = `{"s":"shop.example.com","u":"https://shop.example.com/basket","r":""}`
)

// stored returns all events of the site, oldest first.
func (s *service) stored(t testing.TB) []store.Event {
	t.Helper()
	var all []store.Event
	q := store.Query{Site: s.site.ID, From: time.Unix(0, 0), To: time.Now().Add(48 * time.Hour)}
	require.NoError(t, s.store.Export(context.Background(), q, func(e store.Event) error {
		all = append(all, e)
		return nil
	}))
	return all
}
