package stream

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// described is a JetStream whose streams have the given description.
type described struct {
	jetstream.JetStream // nil
	info                jetstream.StreamInfo
}

func (d *described) Stream(context.Context, string) (jetstream.Stream, error) {
	return describedStream{info: &d.info}, nil
}

type describedStream struct {
	jetstream.Stream // nil
	info             *jetstream.StreamInfo
}

func (s describedStream) CachedInfo() *jetstream.StreamInfo { return s.info }

func (describedStream) Consumer(context.Context, string) (jetstream.Consumer, error) {
	return nil, jetstream.ErrConsumerNotFound
}

// The clock of a relay may be wrong by any time.
func TestTheAgeOfTheOldestEventIsByTheClockOfNATS(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, row := range map[string]struct {
		clock time.Time // of NATS
		age   time.Duration
		want  time.Duration
	}{
		"the relay is behind":     {now.Add(time.Hour), time.Minute, time.Minute},
		"the relay is ahead":      {now.Add(-time.Hour), time.Minute, time.Minute},
		"an event of another one": {now.Add(time.Hour), -time.Second, 0},
	} {
		js := &described{info: jetstream.StreamInfo{TimeStamp: row.clock, State: jetstream.StreamState{Msgs: 1, FirstTime: row.clock.Add(-row.age)}}}
		r := &Relay{link: &link{cfg: Config{}.withDefaults(slog.New(slog.DiscardHandler)), js: js}}
		lag, err := r.Lag(t.Context())
		require.NoError(t, err)
		assert.Equal(t, row.want, lag.Oldest, name)
	}
	state := jetstream.StreamState{Msgs: 1, FirstTime: now.Add(-time.Minute)}
	assert.InDelta(t, time.Minute, oldest(&jetstream.StreamInfo{State: state}), float64(30*time.Second), "NATS before 2.10 does not say its time")
	assert.Zero(t, oldest(&jetstream.StreamInfo{TimeStamp: now}), "no event")
}
