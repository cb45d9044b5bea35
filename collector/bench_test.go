package collector

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// silent is a ResponseWriter that discards everything.
type silent struct {
	header http.Header
	status int
}

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) Write(b []byte) (int, error) { return len(b), nil }
func (s *silent) WriteHeader(status int)      { s.status = status }

// body is a request body that can be read repeatedly.
type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// BenchmarkEvents measures an event without socket and store.
func BenchmarkEvents(b *testing.B) {
	s := prepare(b, Config{KeyRate: -1, Store: adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) { return true, nil }}})
	text := s.event("checkout_completed", "https://shop.example.com/checkout/done?utm_source=newsletter", `{"plan":"pro","total":49.90,"currency":"EUR"}`)
	reader := body{strings.NewReader(text)}
	r, err := http.NewRequest("POST", "/v1/events", reader)
	if err != nil {
		b.Fatal(err)
	}
	r.ContentLength = int64(len(text))
	r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}, "Idempotency-Key": {"0198c1f2-7e5b-7c5a-8f6e-1f1f6b0c9b11"}}
	acceptAll(b, s, r, reader, text)
}

// acceptAll measures requests with this text in their body, which the service accepts.
func acceptAll(b *testing.B, s *service, r *http.Request, reader body, text string) {
	b.Helper()
	w := &silent{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(text)
		clear(w.header)
		s.ServeHTTP(w, r)
		if w.status != http.StatusAccepted {
			b.Fatal(w.status)
		}
	}
}

// BenchmarkBrowserEvents measures a pageview of a browser without socket and store.
func BenchmarkBrowserEvents(b *testing.B) {
	s := prepare(b, Config{BrowserRate: 1e9, BrowserBurst: 1e9, Store: adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) { return true, nil }}})
	reader := body{strings.NewReader(pageview)}
	r, err := http.NewRequest("POST", "/e", reader)
	if err != nil {
		b.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	r.Header = http.Header{"User-Agent": {firefox}, "Content-Type": {"text/plain;charset=UTF-8"}, "Origin": {"https://" + domain}}
	acceptAll(b, s, r, reader, pageview)
}

// BenchmarkEventsOverSockets adds net/http and the loopback interface. The clients write raw
// bytes, so that most of the time is the collector's.
func BenchmarkEventsOverSockets(b *testing.B) {
	b.Run("null", func(b *testing.B) {
		benchmarkSockets(b, adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) { return true, nil }})
	})
	b.Run("sqlite", func(b *testing.B) {
		st, err := sqlite.Open(b.Context(), sqlite.Config{File: filepath.Join(b.TempDir(), "footfall.db")})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { st.Close() }) // runs after the cleanup of the service
		benchmarkSockets(b, st)
	})
}

func benchmarkSockets(b *testing.B, st store.Store) {
	s := serve(b, Config{Store: st, KeyRate: -1})
	text := s.event("checkout_completed", "https://shop.example.com/checkout/done", `{"plan":"pro","total":49.90}`)
	request := []byte("POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.key +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(text)) + "\r\n\r\n" + text)
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		answer := make([]byte, 4096)
		for pb.Next() {
			_, _ = conn.Write(request) // Read reports the error
			n, err := conn.Read(answer)
			if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 202")) {
				b.Errorf("%v: %s", err, answer[:n])
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
