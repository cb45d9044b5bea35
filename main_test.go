package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// TestMain fails the run if a goroutine of the library outlives its tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leakedGoroutines(10 * time.Second); left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines of footfall outlive the tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// longTests says that tests of minutes or hours of fake time run. The build tag ci sets it.
var longTests bool

// long skips a test of minutes or hours of fake time without the build tag ci, and with -short, because the race
// detector makes it slow.
func long(t *testing.T) {
	t.Helper()
	if !longTests || testing.Short() {
		t.Skip("long in fake time: run it with -tags ci and without -short")
	}
}

// leakedGoroutines returns the stacks of goroutines that are still in the library after a
// while.
func leakedGoroutines(patience time.Duration) string {
	deadline := time.Now().Add(patience)
	for {
		left := goroutinesOfFootfall()
		if left == "" || time.Now().After(deadline) {
			return left
		}
		runtime.Gosched()
	}
}

func goroutinesOfFootfall() string {
	var left []string
	for stack := range stacks() {
		if strings.Contains(stack, "footfall-dev/footfall") && !strings.Contains(stack, ".TestMain(") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// goroutinesOfBubble counts the goroutines of the current synctest bubble. Goroutines of other
// tests are not counted.
func goroutinesOfBubble() (n int) {
	own := make([]byte, 1<<10)
	own = own[:runtime.Stack(own, false)]
	bubble := regexp.MustCompile(`synctest bubble \d+\]`).FindString(string(own))
	if bubble == "" {
		panic("not in a bubble")
	}
	for stack := range stacks() {
		if header, _, _ := strings.Cut(stack, "\n"); strings.Contains(header, bubble) {
			n++
		}
	}
	return n
}

// stacks returns the stack of each goroutine.
func stacks() iter.Seq[string] {
	buf := make([]byte, 4<<20)
	return strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n")
}

const testKey = "sk_secret_0123456789"

// fakeNet is an http.RoundTripper without sockets, for tests inside a synctest bubble. It
// answers each request after a delay and records what was sent.
type fakeNet struct {
	mu        sync.Mutex
	latency   time.Duration
	answer    func(*http.Request, string) (*http.Response, error)
	bodies    []string
	ids       []string
	accepted  map[string]int // Idempotency-Key to the number of 202s
	inFlight  int
	mostAtOne int // most in flight at one time
}

func newFakeNet() *fakeNet {
	return &fakeNet{answer: answerStatus(202), accepted: make(map[string]int)}
}

func (f *fakeNet) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	answer, latency := f.begin(r, string(body))
	defer f.end()
	if latency > 0 {
		timer := time.NewTimer(latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	resp, err := answer(r, string(body))
	if err == nil && resp.StatusCode == 202 {
		f.mu.Lock()
		f.accepted[r.Header.Get("Idempotency-Key")]++
		f.mu.Unlock()
	}
	return resp, err
}

func (f *fakeNet) begin(r *http.Request, body string) (func(*http.Request, string) (*http.Response, error), time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bodies = append(f.bodies, body)
	f.ids = append(f.ids, r.Header.Get("Idempotency-Key"))
	f.inFlight++
	f.mostAtOne = max(f.mostAtOne, f.inFlight)
	return f.answer, f.latency
}

func (f *fakeNet) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
}

func (f *fakeNet) set(answer func(*http.Request, string) (*http.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *fakeNet) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.bodies)
}

// mostInFlight returns the largest number of concurrent requests and resets it.
func (f *fakeNet) mostInFlight() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := f.mostAtOne
	f.mostAtOne = f.inFlight
	return most
}

// delivered returns how many events were answered with 202, and the largest number of 202s for
// one event.
func (f *fakeNet) delivered() (events, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.accepted {
		most = max(most, n)
	}
	return len(f.accepted), most
}

func response(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

func answerStatus(status int) func(*http.Request, string) (*http.Response, error) {
	return func(*http.Request, string) (*http.Response, error) {
		if status == 202 {
			return response(202, nil, `{"accepted":true}`), nil
		}
		return response(status, nil, ""), nil
	}
}

// answerRefused answers with the API's error body.
func answerRefused(status int) func(*http.Request, string) (*http.Response, error) {
	return func(*http.Request, string) (*http.Response, error) {
		return response(status, nil, fmt.Sprintf(`{"error":"refused","message":"bad","status":%d}`, status)), nil
	}
}

func answerRetryAfter(status int, value string) func(*http.Request, string) (*http.Response, error) {
	return func(*http.Request, string) (*http.Response, error) {
		return response(status, http.Header{"Retry-After": {value}}, ""), nil
	}
}

func answerDown(*http.Request, string) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// answerHang never answers. It returns when the request's context ends.
func answerHang(r *http.Request, _ string) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// quiet discards the expected log lines.
func quiet(c *footfall.Config) { c.Logger = slog.New(slog.DiscardHandler) }

// start returns a tracker that sends to f. Tests in a bubble close it before they end.
func start(t *testing.T, f http.RoundTripper, change ...func(*footfall.Config)) *footfall.Tracker {
	t.Helper()
	cfg := footfall.Config{
		BaseURL: "https://api.example.com", APIKey: testKey, SiteID: "site_1",
		DefaultURL: "https://example.com/",
		HTTPClient: &http.Client{Transport: f},
	}
	quiet(&cfg)
	for _, c := range change {
		c(&cfg)
	}
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	return tracker
}

// track tracks n events and requires that they are accepted.
func track(t *testing.T, tracker *footfall.Tracker, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, tracker.Track(context.Background(), "tested", footfall.P("n", i)))
	}
}

// closeWithin closes the tracker with a deadline.
func closeWithin(tracker *footfall.Tracker, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return tracker.Close(ctx)
}

// journal is a log that a test can read.
type journal struct{ footfalltest.Log }

func (j *journal) into(cfg *footfall.Config) {
	cfg.Logger = j.Logger()
}

// balanced fails unless every event is in exactly one counter.
func balanced(t *testing.T, s footfall.Stats) {
	t.Helper()
	require.Equal(t, s.Tracked, s.Delivered+s.Rejected+s.Dropped+s.Stored+s.Queued, "%+v", s)
}
