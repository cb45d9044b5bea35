package transporttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// key must stay secret.
const key = "sk_secret_0123456789"

// secrecyRows test that the key stays secret.
var secrecyRows = []row{
	{"the key appears nowhere", keyAppearsNowhere},
	{"a certificate that the system trusts is accepted", trustedTLS},
	{"a server with an untrusted certificate gets nothing", untrustedTLS},
	{"a server without TLS gets nothing over https", plainTextForTLS},
}

// The API, or a server in its place, repeats the key in many ways.
func keyAppearsNowhere(t *testing.T, open Open) {
	const echo = "you sent Bearer " + key
	body := func(status, body string) string { return framings["a length"](status, body) }
	for name, text := range map[string]string{
		"error body":     body("422 No", `{"error":"x","message":"`+echo+`","status":422}`),
		"error code":     body("422 No", `{"error":"`+key+`","message":"x","status":422}`),
		"HTML":           body("404 No", echo),
		"401":            body("401 No", echo),
		"500":            body("500 No", echo),
		"200":            body("200 OK", echo),
		"redirect":       "HTTP/1.1 302 Found\r\nLocation: https://example.com/?key=" + key + "\r\nContent-Length: 0\r\n\r\n",
		"the reason":     body("422 "+echo, ""),
		"no HTTP":        echo + "\r\n\r\n",
		"no status":      "HTTP/1.1 2x2 " + echo + "\r\n\r\n",
		"a bad header":   "HTTP/1.1 202 Accepted\r\n" + echo + "\r\n\r\n",
		"a bad length":   "HTTP/1.1 202 Accepted\r\nContent-Length: " + key + "\r\n\r\n",
		"a bad coding":   "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: " + key + "\r\n\r\n",
		"a bad chunk":    "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n" + key + "\r\n",
		"no answer":      "",
		"a long header":  "HTTP/1.1 202 " + strings.Repeat(echo, 10_000),
		"half an answer": "HTTP/1.1 404 No\r\nContent-Length: 60\r\n\r\n" + key,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			for range 1000 {
				w.script(reply{text, shut})
			}
			r := start(t, open, config(w.url))
			r.track(t, 3)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			said(&r.Log, r.Flush(ctx))
			said(&r.Log, r.close(100*time.Millisecond))
			for _, err := range r.rejections() {
				said(&r.Log, err)
			}
			assert.NotContains(t, r.String(), key)
		})
	}
	t.Run("printed", func(t *testing.T) {
		t.Parallel()
		transport, err := open(config("https://api.example.com"))
		require.NoError(t, err)
		r := &rig{}
		said(&r.Log, transport)
		assert.NotContains(t, r.String(), key)
		assert.NotContains(t, r.String(), strings.Trim(strings.ReplaceAll(string(decimal(key)), ",", ""), "[]"))
	})
}

// decimal returns the bytes of text as fmt prints them.
func decimal(text string) []byte {
	j := &footfalltest.Log{}
	said(j, []byte(text))
	line, _, _ := strings.Cut(j.String(), "] [")
	return []byte(line)
}

// secureServer accepts everything over TLS and counts it.
func secureServer(t *testing.T, certificate *tls.Certificate) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusAccepted)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // without errors of failed handshakes
	if certificate != nil {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, requests
}

func trustedTLS(t *testing.T, open Open) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("the system's roots cannot be set by the environment here")
	}
	url, requests := secureServer(t, nil)
	r := start(t, open, config(url), alone, patient)
	r.deliver(t, 20)
	r.counts(t, 20, 0)
	assert.Equal(t, int64(20), requests.Load())
}

func untrustedTLS(t *testing.T, open Open) {
	own := selfSigned(t)
	for name, server := range map[string]struct {
		certificate *tls.Certificate
		host        string
	}{
		"of an unknown authority": {&own, "127.0.0.1"},
		"of another host":         {nil, "localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, requests := secureServer(t, server.certificate)
			getsNothing(t, open, strings.Replace(url, "127.0.0.1", server.host, 1), "certificate")
			assert.Zero(t, requests.Load())
		})
	}
}

func plainTextForTLS(t *testing.T, open Open) {
	w := newWire(t)
	getsNothing(t, open, "https"+w.url[len("http"):], "")
	assert.Empty(t, w.requests())
}

// getsNothing checks that a transport keeps its events and logs why.
func getsNothing(t *testing.T, open Open, url, why string) {
	t.Helper()
	r := start(t, open, config(url), alone)
	r.track(t, 1)
	require.Eventually(t, func() bool { return strings.Contains(r.String(), "does not accept events") }, patience, time.Millisecond)
	r.says(t, why)
	var account *footfall.CloseError
	require.ErrorAs(t, r.close(5*time.Second), &account)
	assert.Equal(t, uint64(1), account.Lost)
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost", "127.0.0.1"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}
