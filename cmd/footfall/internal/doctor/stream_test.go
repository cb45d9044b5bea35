package doctor

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
)

// oldStream is a stream whose oldest event waits for a while.
type oldStream struct {
	jetstream.Stream // nil
	age              time.Duration
}

func (s *oldStream) CachedInfo() *jetstream.StreamInfo {
	now := time.Now()
	return &jetstream.StreamInfo{TimeStamp: now, State: jetstream.StreamState{Msgs: 7, FirstTime: now.Add(-s.age), Consumers: 1}}
}

func (s *oldStream) Consumer(context.Context, string) (jetstream.Consumer, error) {
	return &oldConsumer{}, nil
}

type oldConsumer struct{ jetstream.Consumer }

func (*oldConsumer) CachedInfo() *jetstream.ConsumerInfo {
	return &jetstream.ConsumerInfo{NumAckPending: 3}
}

func TestEventsThatWaitForLongAreAWarning(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]Finding{
		5 * time.Minute: {"lag", Good, "7 events, the oldest 5m0s old, 3 of them with relays", ""},
		6 * time.Minute: {"lag", Warn, "7 events, the oldest 6m0s old, 3 of them with relays", "see that relays run, and what /readyz or the log of each says"},
	} {
		x := &NATSExam{Report: &Report{OK: true}}
		x.lag(t.Context(), &oldStream{age: age})
		assert.Equal(t, []Finding{want}, x.Findings)
	}
}
