package lean_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/internal/version"
	"github.com/footfall-dev/footfall/lean"
	"github.com/footfall-dev/footfall/transporttest"
)

// Values that are known only at run time, as an application passes them.
var plan, currency, amount, rate = "pro", "EUR", 4999, 0.19

func track(tb testing.TB, tracker *footfall.Tracker) error {
	return tracker.Track(tb.Context(), "checkout_completed",
		footfall.P("plan", plan), footfall.P("amount", amount), footfall.P("currency", currency), footfall.P("rate", rate))
}

func config(addr string) footfall.Config {
	return footfall.Config{
		BaseURL: "http://" + addr, APIKey: "test-key", SiteID: "site_1", DefaultURL: "https://shop.example.com/",
		MaxQueueEvents: 1 << 20, MaxQueueBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler),
	}
}

// The guarantees of the default transport.
func TestTransport(t *testing.T) { transporttest.Run(t, lean.New) }

func TestHTTPClientIsRefusedTogetherWithOtherProblems(t *testing.T) {
	for name, open := range map[string]func(footfall.Config) error{
		"New":        func(c footfall.Config) error { _, err := lean.New(c); return err },
		"NewTracker": func(c footfall.Config) error { _, err := lean.NewTracker(c); return err },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config("127.0.0.1:1")
			cfg.HTTPClient = http.DefaultClient
			var wrong *footfall.FieldError
			require.ErrorAs(t, open(cfg), &wrong)
			assert.Equal(t, "Config.HTTPClient", wrong.Field)
			cfg.APIKey = ""
			err := open(cfg)
			assert.ErrorContains(t, err, "Config.HTTPClient")
			assert.ErrorContains(t, err, "Config.APIKey")
		})
	}
}

func TestRequestsNameTheLibraryAndItsVersion(t *testing.T) {
	api := footfalltest.NewAPI(t)
	tracker, err := lean.NewTracker(api.Config())
	require.NoError(t, err)
	require.NoError(t, track(t, tracker))
	require.NoError(t, tracker.Close(t.Context()))
	require.Len(t, api.Requests(), 1)
	assert.Equal(t, []string{version.UserAgent()}, api.Requests()[0].Header["User-Agent"])
}

func TestNewTrackerRefusesAnotherTransport(t *testing.T) {
	cfg := config("127.0.0.1:1")
	var err error
	cfg.Transport, err = lean.New(cfg)
	require.NoError(t, err)
	_, err = lean.NewTracker(cfg)
	assert.ErrorContains(t, err, "Config.Transport")
}

func TestNewTrackerOfADisabledConfigDoesNothing(t *testing.T) {
	tracker, err := lean.NewTracker(footfall.Config{Disabled: true})
	require.NoError(t, err)
	assert.NoError(t, track(t, tracker))
	assert.NoError(t, tracker.Close(t.Context()))
}

// deliverAll tracks n events as fast as they are delivered.
func deliverAll(t *testing.T, tracker *footfall.Tracker, n int) {
	t.Helper()
	for range n {
		for tracker.Track(context.Background(), "tested", footfall.P("n", amount)) != nil {
			runtime.Gosched() // the queue is full
		}
	}
	require.NoError(t, tracker.Flush(t.Context()))
}

func TestConnectionsHaveNoGoroutines(t *testing.T) {
	api := footfalltest.NewAPI(t)
	cfg := api.Config()
	cfg.MaxInFlight = 16
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	deliverAll(t, tracker, 2_000)
	require.Positive(t, api.Connections())
	require.Eventually(t, func() bool { return transporttest.Goroutines("footfall/lean.") == 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, tracker.Close(t.Context()))
}

// A second answer to one request must not be read as the answer to the next one.
func TestUnsolicitedAnswerIsNotTheNextEvents(t *testing.T) {
	const twice = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\nHTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go answerTwice(conn, twice)
		}
	}()
	cfg := config(listener.Addr().String())
	cfg.MaxInFlight = 1
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, track(t, tracker))
	}
	require.NoError(t, tracker.Close(t.Context()))
	s := tracker.Stats()
	assert.Equal(t, []uint64{10, 0}, []uint64{s.Delivered, s.Rejected})
}

func answerTwice(conn net.Conn, text string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
	}
}
