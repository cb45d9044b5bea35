package stream

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

func TestADifferenceOfBoundsIsLoggedOnceUntilItChanges(t *testing.T) {
	log := &footfalltest.Log{}
	l := &link{log: log.Logger()}
	want := (&Config{MaxBytes: 10}).wanted()
	for _, step := range []struct {
		bytes int64
		lines int
	}{{10, 0}, {20, 1}, {20, 1}, {30, 2}, {10, 2}, {30, 3}} {
		have := (&Config{MaxBytes: step.bytes}).wanted()
		require.NoError(t, l.follow("FOOTFALL", compare(have, want)))
		assert.Equal(t, step.lines, log.Lines(slog.LevelWarn), "%+v", step)
	}
	require.NoError(t, l.follow("OTHER", compare((&Config{MaxBytes: 30}).wanted(), want)))
	assert.Equal(t, 4, log.Lines(slog.LevelWarn), "for each stream")
}

func TestAMaxAgeThatWouldRemoveEventsIsRefused(t *testing.T) {
	now := time.Now()
	info := &jetstream.StreamInfo{TimeStamp: now, State: jetstream.StreamState{Msgs: 1, FirstTime: now.Add(-time.Hour)}}
	after := func(d time.Duration) jetstream.StreamConfig { return (&Config{Name: "FOOTFALL", MaxAge: d}).wanted() }
	require.ErrorContains(t, (bounds{}).refused(info, after(59*time.Minute)), `stream.Config.MaxAge: 59m0s would remove events of NATS stream "FOOTFALL", whose oldest is 1h0m0s old`)
	require.NoError(t, (bounds{}).refused(info, after(time.Hour)))
	require.NoError(t, (bounds{}).refused(info, after(-1)))
	info.State.Msgs = 0
	require.NoError(t, (bounds{}).refused(info, after(time.Second)))
}
