package transporttest

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// callbackRows test functions of the application that do not return. They also apply to
// transports that store events.
var callbackRows = []row{
	{"a log that blocks forever delays neither Track nor deliveries nor Close", logBlocks},
	{"an OnRejected that blocks forever delays neither Track nor deliveries nor Close", onRejectedBlocks},
}

// blocker blocks each call until the test ends.
type blocker struct {
	slog.Handler
	free chan struct{}
}

func newBlocker(t *testing.T) *blocker {
	b := &blocker{slog.DiscardHandler, make(chan struct{})}
	t.Cleanup(func() { close(b.free) })
	return b
}

func (b *blocker) block() { <-b.free }

func (b *blocker) Enabled(context.Context, slog.Level) bool { return true }

func (b *blocker) Handle(context.Context, slog.Record) error { b.block(); return nil }

// maxBlocked bounds the blocked calls: one log line in each of three parts, and some calls
// of OnRejected.
const maxBlocked = 3 + 66

// bounded checks the number of blocked calls, including calls of other rows.
func (b *blocker) bounded(t *testing.T) {
	t.Helper()
	n := Goroutines("transporttest.(*blocker).block(")
	assert.Positive(t, n)
	assert.LessOrEqual(t, n, maxBlocked)
}

// unhindered tracks while the API gives every answer that is logged, one request at a time.
func unhindered(t *testing.T, r *rig, api *footfalltest.API) {
	t.Helper()
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusUnauthorized, http.StatusProxyAuthRequired} {
		api.Always(footfalltest.Status(status))
		sent := len(api.Requests())
		r.track(t, 1)
		require.Error(t, r.Track(t.Context(), ""))
		require.Eventually(t, func() bool { return len(api.Requests()) >= sent+5 }, patience, time.Millisecond)
		api.Always(footfalltest.Accept())
		r.flush(t)
	}
	api.Always(footfalltest.Status(http.StatusUnprocessableEntity))
	r.deliver(t, 200)
	api.Always(footfalltest.Accept())
	r.deliver(t, 10)
}

func logBlocks(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	b := newBlocker(t)
	r := start(t, open, api.Config(), alone, func(c *footfall.Config) { c.Logger = slog.New(b) })
	unhindered(t, r, api)
	r.counts(t, 13, 200)
	assert.Len(t, r.rejections(), 200)
	b.bounded(t)
	require.NoError(t, r.close(10*time.Second))
}

func onRejectedBlocks(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	b := newBlocker(t)
	r := start(t, open, api.Config(), alone, func(c *footfall.Config) { c.OnRejected = func(*footfall.RejectedError) { b.block() } })
	unhindered(t, r, api)
	r.counts(t, 13, 200)
	b.bounded(t)
	require.NoError(t, r.close(10*time.Second))
	counted := 0
	for _, line := range regexp.MustCompile(`rejected=(\d+)`).FindAllStringSubmatch(r.String(), -1) {
		n, _ := strconv.Atoi(line[1]) // of digits
		counted += n
	}
	assert.InDelta(t, 200-64, counted, 2, "the events without a call of OnRejected")
}
