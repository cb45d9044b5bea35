package footfall_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveHandshakes reports which protocols clients offer, and closes the connections.
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
		j.Logger().Info("config", "cfg", cfg)
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

// The letter e is in nearly every error.
func TestAKeyOfOneLetterLeavesErrorsReadable(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"error":"unavailable","message":"the key e is known, the store is away","status":503}`, "the key e is known, the store is away"} {
		server := testServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, body)
		})
		client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: server.URL, APIKey: "e"})
		require.NoError(t, err)
		_, err = client.Sites(t.Context())
		assert.ErrorContains(t, err, "the key [key] is known, the store is away")
	}
	client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: "http://127.0.0.1:1", APIKey: "e"})
	require.NoError(t, err)
	_, err = client.Sites(t.Context())
	assert.ErrorIs(t, err, syscall.ECONNREFUSED, "the error of the network stays what it is")
	assert.NotContains(t, err.Error(), "[key]")
}
