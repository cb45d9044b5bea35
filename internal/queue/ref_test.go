package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAStaleRefSettlesNoEvent(t *testing.T) {
	t.Parallel()
	retry := func(q *shardTest, r Ref) Ref {
		kept, _ := q.Retry(r, nil)
		return kept
	}
	next := func(q *shardTest) Ref {
		_ = q.Put(&Hint{}, number(1), 0)
		q.Counters() // counts it
		var one [1]item
		q.Take(one[:])
		return one[0].Ref
	}
	for name, refs := range map[string]func(q *shardTest, r Ref) (stale, live Ref){
		"of an event that was given back":       func(q *shardTest, r Ref) (stale, live Ref) { return r, retry(q, r) },
		"of an event that was given back twice": func(q *shardTest, r Ref) (stale, live Ref) { r = retry(q, r); return r, retry(q, r) },
		"of another queue":                      func(_ *shardTest, r Ref) (stale, live Ref) { return next(newShardTest(1)), r },
		"of memory that is used again": func(q *shardTest, r Ref) (stale, live Ref) {
			q.Settle([]item{{Ref: r}}, Rejected, nil)
			q.Counters() // the slab begins anew
			return r, next(q)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newShardTest(1)
			stale, live := refs(q, next(q))
			require.Equal(t, uint64(1), q.Counters().Queued)
			_, ok := q.Retry(stale, nil)
			assert.False(t, ok)
			q.Settle([]item{{Ref: stale}}, Delivered, nil)
			assert.Equal(t, uint64(1), q.Counters().Queued)
			q.Settle([]item{{Ref: live}}, Delivered, nil)
			assert.Zero(t, q.Counters().Queued)
		})
	}
}

func TestAWaiterKnowsWhyItsOwnEventFailed(t *testing.T) {
	t.Parallel()
	q := newShardTest(1)
	w := NewWaiter()
	require.NoError(t, q.PutWaiter(&Hint{}, number(1), 0, w))
	_, r := q.takeOne(t)
	q.source.delay(t, r)
	assert.EqualError(t, q.Forget(w), "not now")
}
