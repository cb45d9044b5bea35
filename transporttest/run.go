package transporttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Open opens the tested transport, such as [footfall.NewHTTPTransport].
type Open func(footfall.Config) (footfall.Transport, error)

// row is one test of the suite.
type row struct {
	name string
	run  func(*testing.T, Open)
}

// Without names a test that does not apply to a transport, and says why. The test is skipped.
type Without struct {
	Row     string
	Because string
}

// Run runs all tests of the suite with the transports that open returns, except the tests in
// without. A Without that names no test of the suite fails.
func Run(t *testing.T, open Open, without ...Without) {
	t.Helper()
	runRows(t, open, without, contractRows, answerRows, retryRows, poisonRows, connectionRows, wireRows, oddRows, closeRows, secrecyRows, callbackRows)
}

func runRows(t *testing.T, open Open, without []Without, tables ...[]row) {
	t.Helper()
	skipped := make(map[string]string)
	for _, w := range without {
		skipped[w.Row] = w.Because
	}
	for _, r := range slices.Concat(tables...) {
		because, skip := skipped[r.name]
		delete(skipped, r.name)
		t.Run(r.name, func(t *testing.T) {
			if skip {
				t.Skip(because)
			}
			t.Parallel()
			r.run(t, open)
		})
	}
	assert.Empty(t, skipped, "no such rows")
}

// rig is a tracker with the tested transport, and its log.
type rig struct {
	*footfall.Tracker
	footfalltest.Log

	mu       sync.Mutex
	rejected []*footfall.RejectedError
}

// start starts a tracker for the API of cfg, with short intervals.
func start(t *testing.T, open Open, cfg footfall.Config, change ...func(*footfall.Config)) *rig {
	t.Helper()
	r := &rig{}
	cfg.Logger = r.Logger()
	cfg.OnRejected = r.reject
	cfg.BackoffMin, cfg.BackoffMax = time.Millisecond, 20*time.Millisecond
	cfg.ProbeMin, cfg.ProbeMax = time.Millisecond, 20*time.Millisecond
	for _, c := range change {
		c(&cfg)
	}
	var err error
	cfg.Transport, err = open(cfg)
	require.NoError(t, err)
	r.Tracker, err = footfall.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.close(time.Second) })
	return r
}

// config returns a Config for a server that is not a footfalltest.API.
func config(url string) footfall.Config {
	return footfall.Config{BaseURL: url, APIKey: key, SiteID: "site_test", DefaultURL: "https://example.com/", FlushInterval: time.Millisecond}
}

// alone limits the tracker to one request at a time.
func alone(c *footfall.Config) { c.MaxInFlight = 1 }

// patient sets a backoff longer than any test, so that retries do not happen by themselves.
func patient(c *footfall.Config) {
	c.BackoffMin, c.BackoffMax = 10*time.Hour, 10*time.Hour
	c.ProbeMin, c.ProbeMax = 10*time.Hour, 10*time.Hour
}

func (r *rig) reject(err *footfall.RejectedError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejected = append(r.rejected, err)
}

// rejections returns the errors passed to OnRejected.
func (r *rig) rejections() []*footfall.RejectedError {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rejected)
}

// patience bounds each wait, also on a busy machine.
const patience = 2 * time.Minute

// track tracks n events, which must be accepted.
func (r *rig) track(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, r.Track(t.Context(), "tested", footfall.P("n", i)))
	}
}

// deliver tracks n events and waits until they are settled.
func (r *rig) deliver(t *testing.T, n int) {
	t.Helper()
	r.track(t, n)
	r.flush(t)
}

func (r *rig) flush(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, r.Flush(ctx), r.String())
}

// settles reports whether everything is settled within d.
func (r *rig) settles(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return r.Flush(ctx) == nil
}

func (r *rig) close(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return r.Close(ctx)
}

// counts checks how many events were delivered and rejected.
func (r *rig) counts(t *testing.T, delivered, rejected int) {
	t.Helper()
	s := r.Stats()
	assert.Equal(t, []uint64{uint64(delivered), uint64(rejected)}, []uint64{s.Delivered, s.Rejected}, "delivered and rejected; %s", r.String())
	assert.Equal(t, s.Tracked, s.Delivered+s.Rejected+s.Dropped+s.Stored+s.Queued)
}

// says waits until the log contains text. A sender settles its event before it logs.
func (r *rig) says(t *testing.T, text string) {
	t.Helper()
	assert.Eventually(t, func() bool { return strings.Contains(r.String(), text) }, patience, time.Millisecond, "%q in %s", text, r)
}

// said logs v in all formats of fmt.
func said(l *footfalltest.Log, v any) { fmt.Fprintf(l, "%v %+v %#v %q\n", v, v, v, v) }
