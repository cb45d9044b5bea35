package footfall_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func writeFile(t *testing.T, path string, size int64) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(size))
}

func TestFirstServerSentEventArrivesWhenItIsWritten(t *testing.T) {
	t.Parallel()
	for name, flush := range map[string]func(http.ResponseWriter){
		"flushed by Flusher":            func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
		"flushed by ResponseController": func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", name, http2), func(t *testing.T) {
				t.Parallel()
				arrived := make(chan struct{})
				mux := http.NewServeMux()
				mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, "data: first\n\n")
					flush(w)
					select {
					case <-arrived:
						_, _ = io.WriteString(w, "data: last\n\n")
					case <-r.Context().Done():
					}
				})
				site := setup{rules: onEveryClass("GET /sse"), http2: http2}.open(t, mux)
				resp, err := site.Client().Do(site.request(t, "GET", "/sse", nil))
				require.NoError(t, err)
				defer resp.Body.Close()
				body := bufio.NewReader(resp.Body)
				line, err := body.ReadString('\n')
				require.NoError(t, err)
				assert.Equal(t, "data: first\n", line)
				assert.Zero(t, site.tracker.Stats().Tracked, "the handler still runs")
				close(arrived)
				rest, err := io.ReadAll(body)
				require.NoError(t, err)
				assert.Equal(t, "\ndata: last\n\n", string(rest))
				assert.Equal(t, []string{"success"}, site.names())
			})
		}
	}
}

func TestEarlyHintsAreNotTheStatus(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.HandleFunc("GET /p", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "</style.css>; rel=preload")
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusNotFound)
			})
			site := setup{rules: onEveryClass("GET /p"), http2: http2}.open(t, mux)
			var hints []int
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(status int, _ textproto.MIMEHeader) error {
					hints = append(hints, status)
					return nil
				},
			})
			resp, err := site.Client().Do(site.request(t, "GET", "/p", nil).WithContext(ctx))
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, http.StatusNotFound, resp.StatusCode)
			assert.Equal(t, []int{103, 103}, hints)
			assert.Equal(t, []string{"client_error"}, site.names())
		})
	}
}

// upgrade switches protocols and echoes one line, as a WebSocket handler would.
func upgrade(w http.ResponseWriter, head func(http.ResponseWriter, *bufio.ReadWriter)) error {
	var rw *bufio.ReadWriter
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	head(w, rw)
	if err := rw.Flush(); err != nil {
		return err
	}
	line, err := rw.ReadString('\n')
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, "echo "+line)
	return err
}

func TestHijackedConnectionSpeaksAnotherProtocolAndIsASuccess(t *testing.T) {
	t.Parallel()
	const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
	over := make(chan error, 1)
	done := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, _ *http.Request) {
		over <- upgrade(w, func(_ http.ResponseWriter, rw *bufio.ReadWriter) { _, _ = rw.WriteString(switching) })
	})
	site := setup{rules: onEveryClass("GET /ws"), around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(done) // the server does not wait for hijacked connections
			next.ServeHTTP(w, r)
		})
	}}.open(t, mux)
	conn, err := net.DialTimeout("tcp", site.Listener.Addr().String(), 10*time.Second)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: shop.example.com\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, switching+"echo hello\n", string(answer))
	require.NoError(t, <-over)
	<-done
	assert.Equal(t, []string{"success"}, site.names())
}

func TestSwitchingProtocolsByWriteHeaderIsASuccess(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
	})
	site := setup{rules: onEveryClass("GET /ws")}.open(t, mux)
	text := site.rawly(t, "GET /ws HTTP/1.1")
	assert.Contains(t, text, "HTTP/1.1 101 Switching Protocols\r\n")
	assert.Equal(t, []string{"success"}, site.names())
}

func TestHijackThatFailsLeavesTheStatusToTheHandler(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, _ *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		assert.ErrorIs(t, err, http.ErrNotSupported, "HTTP/2 cannot")
		w.WriteHeader(http.StatusNotImplemented)
	})
	site := setup{rules: onEveryClass("GET /ws"), http2: true}.open(t, mux)
	status, _ := site.do(t, "GET", "/ws")
	assert.Equal(t, http.StatusNotImplemented, status)
	assert.Equal(t, []string{"server_error"}, site.names())
}

func TestFullDuplexWorksThroughTheMiddleware(t *testing.T) {
	t.Parallel()
	site := setup{}.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		assert.NoError(t, c.EnableFullDuplex())
		in := bufio.NewReader(r.Body)
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			_, _ = io.WriteString(w, "echo "+line)
			_ = c.Flush()
		}
	}))
	body, writer := io.Pipe()
	defer endLater(writer).Stop()
	defer writer.Close()
	go func() { _, _ = io.WriteString(writer, "one\n") }()
	resp, err := site.Client().Do(site.request(t, "POST", "/", body))
	require.NoError(t, err)
	defer resp.Body.Close()
	answers := bufio.NewReader(resp.Body)
	for _, next := range []string{"two\n", "three\n", ""} {
		line, err := answers.ReadString('\n')
		require.NoError(t, err)
		assert.Contains(t, line, "echo ")
		_, err = io.WriteString(writer, next)
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	rest, err := io.ReadAll(answers)
	require.NoError(t, err)
	assert.Empty(t, rest)
}

func TestCloseNotifierOfTheServersWriterIsKept(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	for _, http2 := range []bool{false, true} {
		kept := false
		server := httptest.NewUnstartedServer(tracker.Middleware()(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, kept = w.(interface{ CloseNotify() <-chan bool }) // http.CloseNotifier, for old applications
		})))
		server.EnableHTTP2 = http2
		server.StartTLS()
		resp, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		resp.Body.Close()
		server.Close()
		assert.True(t, kept, "HTTP/2: %t", http2)
	}
}

func TestResponseControllerReachesTheServer(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				c := http.NewResponseController(w)
				later := time.Now().Add(time.Minute)
				_, _ = fmt.Fprint(w, c.SetReadDeadline(later), c.SetWriteDeadline(later), c.EnableFullDuplex(), c.Flush())
			})
			_, bare := setup{http2: http2, without: true}.open(t, handler).do(t, "GET", "/")
			_, wrapped := setup{http2: http2}.open(t, handler).do(t, "GET", "/")
			assert.Contains(t, bare, "<nil> <nil>")
			assert.Equal(t, bare, wrapped)
		})
	}
}

func TestResponseControllerSetsTheDeadlineOfTheConnection(t *testing.T) {
	t.Parallel()
	var err error
	site := setup{}.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.NoError(t, http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)))
		_, err = io.ReadAll(r.Body)
	}))
	body, writer := io.Pipe() // never written to
	defer endLater(writer).Stop()
	defer writer.Close()
	if resp, err := site.Client().Do(site.request(t, "POST", "/", body)); err == nil {
		resp.Body.Close()
	}
	site.Close()
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.True(t, timeout.Timeout())
}

// endLater ends a body that would otherwise never end because of a defect.
func endLater(body *io.PipeWriter) *time.Timer {
	return time.AfterFunc(15*time.Second, func() { body.CloseWithError(errors.New("the test took too long")) })
}

// countingWriter counts calls of the methods that write a body.
type countingWriter struct {
	http.ResponseWriter
	written, readFrom int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	c.written += int64(len(p))
	return c.ResponseWriter.Write(p)
}

func (c *countingWriter) ReadFrom(src io.Reader) (int64, error) {
	n, err := c.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
	c.readFrom += n
	return n, err
}

func TestFilesTakeTheSendfilePath(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	path := t.TempDir() + "/big.bin"
	writeFile(t, path, size)
	var counter *countingWriter
	site := setup{
		rules: []footfall.Rule{{Route: "GET /file", Event: "downloaded", Status: footfall.Success}},
		around: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				counter = &countingWriter{ResponseWriter: w}
				next.ServeHTTP(counter, r)
			})
		},
	}.open(t, mounted("GET /file", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, path)
	})))
	_, body := site.do(t, "GET", "/file")
	assert.Len(t, body, size)
	assert.Equal(t, []string{"downloaded"}, site.names())
	assert.Equal(t, int64(size), counter.readFrom, "io.ReaderFrom of the server gets the file")
	assert.Zero(t, counter.written)
}

func TestPageIsTheRequestedOneEvenIfTheHandlerChangesTheRequest(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*http.Request){
		"the path":        func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/changed", "" },
		"the query":       func(r *http.Request) { r.URL.RawQuery = "ref=changed" },
		"the whole URL":   func(r *http.Request) { *r.URL = url.URL{Scheme: "ftp", Host: "changed", Path: "/changed"} },
		"another URL":     func(r *http.Request) { r.URL = &url.URL{Path: "/changed"} },
		"the host":        func(r *http.Request) { r.Host = "changed.example.com" },
		"forwarding":      func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "changed.example.com") },
		"the request URI": func(r *http.Request) { r.RequestURI = "/changed" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.HandleFunc("GET /basket/{id}", func(_ http.ResponseWriter, r *http.Request) {
				change(r)
				assert.NoError(t, footfall.Track(r.Context(), "inside"))
			})
			site := setup{
				rules: []footfall.Rule{{Route: "GET /basket/{id}", Event: "by_rule"}},
				config: func(c *footfall.Config) {
					c.PublicURL = ""
					c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
				},
			}.open(t, mux)
			site.get(t, "/basket/a%2Fb?ref=mail&token=secret")
			want := site.URL + "/basket/a%2Fb?ref=mail"
			assert.Equal(t, []string{want, want}, urls(site.events()))
		})
	}
}

func TestPageOfTheRequest(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	forwarded := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example, www.example.com"}
	for name, tc := range map[string]struct {
		config func(*footfall.Config)
		path   string
		header []string
		want   string // %s is the server's own URL
	}{
		"its own host and scheme": {func(*footfall.Config) {}, "/a", nil, "%s/a"},
		"listed query keys only":  {func(*footfall.Config) {}, "/a?utm_source=x&email=j@x.de&ref=y&source=z&refer=n", nil, "%s/a?utm_source=x&ref=y&source=z"},
		"keys of its own":         {func(c *footfall.Config) { c.QueryKeys = []string{"page"} }, "/a?utm_source=x&page=2", nil, "%s/a?page=2"},
		"no keys":                 {func(c *footfall.Config) { c.QueryKeys = []string{} }, "/a?utm_source=x", nil, "%s/a"},
		"personal data in a key":  {func(*footfall.Config) {}, "/a?ref=jane%40example.com&source=mail", nil, "%s/a?source=mail"},
		"a proxy not trusted":     {func(*footfall.Config) {}, "/a", forwarded, "%s/a"},
		"another proxy trusted":   {func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }, "/a", forwarded, "%s/a"},
		"a trusted proxy":         {func(c *footfall.Config) { c.TrustedProxies = loopback }, "/a", forwarded, "https://www.example.com/a"},
		"PublicURL before proxies": {func(c *footfall.Config) { c.TrustedProxies, c.PublicURL = loopback, "https://shop.example.com/eu/" },
			"/a", forwarded, "https://shop.example.com/eu/a"},
		"an encoded path": {func(*footfall.Config) {}, "/k%C3%B6ln/a%2Fb%20c", nil, "%s/k%C3%B6ln/a%2Fb%20c"},
		"a quote":         {func(*footfall.Config) {}, "/a%22b%5C?ref=%22", nil, "%s/a%22b%5C?ref=%22"},
		"hostile forwarding": {func(c *footfall.Config) { c.TrustedProxies = loopback }, "/a",
			[]string{"X-Forwarded-Proto", "javascript", "X-Forwarded-Host", `evil.com/"x`}, "%s/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules: []footfall.Rule{{Route: "GET /", Event: "by_rule"}},
				config: func(c *footfall.Config) {
					c.PublicURL = ""
					tc.config(c)
				},
			}.open(t, mounted("GET /", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				assert.NoError(t, footfall.Track(r.Context(), "inside"))
			})))
			site.get(t, tc.path, tc.header...)
			want := strings.Replace(tc.want, "%s", site.URL, 1)
			assert.Equal(t, []string{want, want}, urls(site.events()))
		})
	}
}

func TestPageOverTLSIsHTTPS(t *testing.T) {
	t.Parallel()
	site := setup{
		http2:  true,
		rules:  []footfall.Rule{{Route: "GET /a"}},
		config: func(c *footfall.Config) { c.PublicURL = "" },
	}.open(t, muxOf("GET /a"))
	require.True(t, strings.HasPrefix(site.URL, "https://"))
	site.get(t, "/a")
	assert.Equal(t, []string{site.URL + "/a"}, urls(site.events()))
}

func TestInvalidHostFallsBackToTheDefaultURL(t *testing.T) {
	t.Parallel()
	site := setup{
		rules:  []footfall.Rule{{Route: "GET /a"}},
		config: func(c *footfall.Config) { c.PublicURL = "" },
	}.open(t, muxOf("GET /a"))
	hosts := []string{
		"", ":80", "a'b", "a;b", "(a)", "a b", "a,b", "shop.example.com:port", "a:1:2",
		"[::1", "[::1]]", "[::1]x", "[::1]:x", "[]", "[1.2.3.4", "[::1%25a]", "[::1%a,b]",
	}
	for _, host := range hosts {
		site.rawly(t, "GET /a HTTP/1.1", "Host: "+host)
	}
	for i, e := range site.events() {
		assert.Equal(t, "https://example.com/", e.URL, "event %d", i)
	}
}

func TestHostOfTheRequestMayBeAnAddressWithAPort(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"shop.example.com", "shop.example.com:8080", "localhost", "192.0.2.1:80", "[2001:db8::1]", "[2001:db8::1]:8080"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules:  []footfall.Rule{{Route: "GET /a"}},
				config: func(c *footfall.Config) { c.PublicURL = "" },
			}.open(t, muxOf("GET /a"))
			site.rawly(t, "GET /a HTTP/1.1", "Host: "+host)
			assert.Equal(t, []string{"http://" + host + "/a"}, urls(site.events()))
		})
	}
}

func TestHostFromAHeaderCannotBreakOutOfTheURL(t *testing.T) {
	t.Parallel()
	const hostile = `[::1%25","name":"evil]`
	for name, header := range map[string][]string{
		"the Referer":           {"Referer", "http://" + hostile + "/"},
		"the Referer, escaped":  {"Referer", "http://[::1%25%22,%22name%22:%22evil]/"},
		"what the proxy passes": {"X-Forwarded-Host", strings.Replace(hostile, "%25", "%", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules: []footfall.Rule{{Route: "GET /a", Event: "viewed", Page: footfall.PageReferer}},
				config: func(c *footfall.Config) {
					c.PublicURL = ""
					c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
				},
			}.open(t, muxOf("GET /a"))
			site.get(t, "/a", header...)
			events := site.events()
			require.Len(t, events, 1, "an event whose JSON is broken is refused")
			assert.Equal(t, "viewed", events[0].Name)
			assert.Equal(t, site.URL+"/a", events[0].URL)
		})
	}
}
