package footfall_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// serveHandshakes tells which protocols clients offer, and serves none of them.
func serveHandshakes(listener net.Listener, offered chan<- []string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		server := tls.Server(conn, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			select {
			case offered <- hello.SupportedProtos:
			default:
			}
			return nil, fmt.Errorf("enough seen")
		}})
		_ = server.Handshake()
		conn.Close()
	}
}

// An API, or what stands in its place, that repeats the key in every way it can.
func TestKeyNeverAppears(t *testing.T) {
	t.Parallel()
	const key = footfalltest.Key
	echo := fmt.Sprintf(`you sent Bearer %s`, key)
	answers := map[string]footfalltest.Answer{
		"error body":   footfalltest.Body(422, "application/json", fmt.Sprintf(`{"error":"x","message":%q,"status":422}`, echo)),
		"error code":   footfalltest.Body(422, "application/json", fmt.Sprintf(`{"error":%q,"message":"x","status":422}`, echo)),
		"HTML":         footfalltest.Body(404, "text/html", echo),
		"401":          footfalltest.Body(401, "text/plain", echo),
		"500":          footfalltest.Body(500, "text/plain", echo),
		"a redirect":   footfalltest.Redirect(302, "https://example.com/?key="+key),
		"no answer":    footfalltest.Reset(),
		"200 and HTML": footfalltest.Body(200, "text/html", echo),
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.NewAPI(t)
			api.Always(answer)
			j := &journal{}
			said := func(v any) { fmt.Fprintf(j, "%v %+v %#v\n", v, v, v) }
			tracker := onSocket(t, api, j.into, func(c *footfall.Config) { c.OnError = func(err error) { said(err) } })
			track(t, tracker, 3)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			said(tracker.Flush(ctx))
			said(closeWithin(tracker, 100*time.Millisecond))
			client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: api.URL, APIKey: key})
			require.NoError(t, err)
			said(client.Send(t.Context(), footfall.Event{SiteID: "s", Name: "n", URL: "https://example.com/"}))
			assert.NotContains(t, j.String(), key)
		})
	}
}

func TestKeyNeverAppearsInErrorsOfTheNetwork(t *testing.T) {
	t.Parallel()
	client, err := footfall.NewClient(footfall.ClientConfig{
		BaseURL: "https://api.example.com", APIKey: testKey,
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("could not send %v", r.Header)
		})},
	})
	require.NoError(t, err)
	_, err = client.Sites(t.Context())
	require.Error(t, err)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, err), testKey)
}

func TestKeyNeverAppearsInAPrintedConfig(t *testing.T) {
	t.Parallel()
	j := &journal{}
	for _, cfg := range []any{
		footfall.Config{APIKey: testKey, BaseURL: "https://api.example.com"},
		&footfall.Config{APIKey: testKey},
		footfall.ClientConfig{APIKey: testKey},
		struct{ Footfall footfall.Config }{footfall.Config{APIKey: testKey}},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			fmt.Fprintf(j, verb+"\n", cfg)
		}
		text, err := json.Marshal(cfg)
		require.NoError(t, err)
		fmt.Fprintln(j, string(text))
		j.logger().Info("config", "cfg", cfg)
		slog.New(slog.NewJSONHandler(j, nil)).Info("config", "cfg", cfg)
	}
	assert.NotContains(t, j.String(), testKey)
}

func TestPlainHTTPIsRefusedUnlessLoopbackOrAllowed(t *testing.T) {
	t.Parallel()
	for base, allowed := range map[string]bool{
		"http://api.example.com": false, "http://10.0.0.1": false, "http://localhost.example.com": false,
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost": true, "https://api.example.com": true,
	} {
		cfg := footfall.ClientConfig{BaseURL: base, APIKey: testKey}
		_, err := footfall.NewClient(cfg)
		assert.Equal(t, allowed, err == nil, "%s: %v", base, err)
		cfg.AllowHTTP = true
		_, err = footfall.NewClient(cfg)
		assert.NoError(t, err, base)
	}
}
