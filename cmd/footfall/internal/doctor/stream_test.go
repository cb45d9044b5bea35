package doctor

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
)

// A consumer has its own replicas, and may have no leader while the stream has one.
func TestAConsumerThatDoesNotAnswerIsAFailure(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]Level{
		context.DeadlineExceeded:    Bad,
		nats.ErrPermissionViolation: Good,
	} {
		x := &NATSExam{Report: &Report{OK: true}, Servers: &natsconn.Servers{}, Consumer: "footfall-relay"}
		s := &oldStream{err: err}
		x.lag(t.Context(), s)
		assert.Equal(t, want, x.Findings[0].Level, "%v", err)
		assert.Equal(t, want != Bad, x.OK)
	}
}

// oldStream is a stream whose oldest event waits for a while.
type oldStream struct {
	jetstream.Stream // nil
	age              time.Duration
	err              error // of the consumer
}

func (s *oldStream) CachedInfo() *jetstream.StreamInfo {
	now := time.Now()
	return &jetstream.StreamInfo{TimeStamp: now, State: jetstream.StreamState{Msgs: 7, FirstTime: now.Add(-s.age), Consumers: 1}}
}

func (s *oldStream) Consumer(context.Context, string) (jetstream.Consumer, error) {
	return &oldConsumer{}, s.err
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

func TestTheServersThatHaveAllEventsAreCounted(t *testing.T) {
	t.Parallel()
	peers := func(current ...bool) (list []*jetstream.PeerInfo) {
		for i, c := range current {
			list = append(list, &jetstream.PeerInfo{Name: string(rune('b' + i)), Current: c})
		}
		return list
	}
	gone := []*jetstream.PeerInfo{{Name: "b", Current: true, Offline: true}, {Name: "c"}}
	changing := &jetstream.DesiredClusterInfo{}
	for name, row := range map[string]struct {
		replicas int
		cluster  *jetstream.ClusterInfo
		level    Level
		found    string
	}{
		"one server":                    {1, nil, Warn, "1: events are lost with the disk of their server"},
		"one of a cluster":              {1, &jetstream.ClusterInfo{Leader: "a"}, Warn, "1: events are lost with the disk of their server"},
		"one, which is dead":            {1, &jetstream.ClusterInfo{}, Bad, "the stream has no leader, and NATS accepts no events"},
		"three":                         {3, &jetstream.ClusterInfo{Leader: "a", Replicas: peers(true, true)}, Good, "3 current, leader a"},
		"one is behind":                 {3, &jetstream.ClusterInfo{Leader: "a", Replicas: peers(true, false)}, Warn, "2 of 3 current, leader a; offline or behind: c"},
		"two are gone, and no election": {3, &jetstream.ClusterInfo{Leader: "a", Replicas: gone}, Bad, "1 of 3 current, leader a, and NATS accepts no events; offline or behind: b, c"},
		"two are gone":                  {3, &jetstream.ClusterInfo{Replicas: gone}, Bad, "the stream has no leader, and NATS accepts no events; offline or behind: b, c"},
		"a change begins":               {3, &jetstream.ClusterInfo{Leader: "a", Desired: changing}, Bad, "1 of 3 current, leader a, and NATS accepts no events; a change of the replicas is not settled"},
		"others are not listed yet":     {3, &jetstream.ClusterInfo{Leader: "a"}, Bad, "1 of 3 current, leader a, and NATS accepts no events"},
		"a change goes on":              {3, &jetstream.ClusterInfo{Leader: "a", Replicas: peers(true, true), Desired: changing}, Warn, "3 of 3 current, leader a; a change of the replicas is not settled"},
	} {
		x := &NATSExam{Report: &Report{OK: true}}
		x.replicas(&jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: row.replicas}, Cluster: row.cluster})
		if assert.Len(t, x.Findings, 1, name) {
			assert.Equal(t, []any{row.level, row.found}, []any{x.Findings[0].Level, x.Findings[0].Found}, name)
			assert.Equal(t, row.level != Bad, x.OK, name)
			assert.Equal(t, row.level == Good, x.Findings[0].Remedy == "", name)
		}
	}
}
