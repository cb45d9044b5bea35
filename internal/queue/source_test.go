package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// item is an event that was taken.
type item struct {
	ID   uuid.UUID
	Body []byte
	Ref  Ref
}

func newItem(r Ref) item { return item{r.ID(), r.Body(), r} }

// sourceTest waits for batches of a queue, and holds its delayed events, as the Source of
// package footfall does.
type sourceTest struct {
	queue   *Queue
	woken   atomic.Bool
	delayed []item // oldest first
}

// Wait returns how many events are due, or false if ctx has ended or there will be none.
func (s *sourceTest) Wait(ctx context.Context) (waiting int, ok bool) {
	for {
		n, more := s.queue.DueBatch(s.woken.Swap(false))
		if n > 0 || !more {
			return n, n > 0
		}
		select {
		case <-s.queue.Trigger():
		case <-s.queue.Timer():
			s.queue.TimeOver()
		case <-ctx.Done():
			return 0, false
		}
	}
}

func (s *sourceTest) Wake() {
	s.woken.Store(true)
	s.queue.wake()
}

// delay gives an event back that was taken.
func (s *sourceTest) delay(t *testing.T, r item) {
	t.Helper()
	kept, ok := s.queue.Retry(r.Ref, errors.New("not now"))
	require.True(t, ok)
	s.delayed = append(s.delayed, newItem(kept))
}

func (s *sourceTest) Size() (events, bytes int) {
	for _, r := range s.delayed {
		bytes += len(r.Body)
	}
	return len(s.delayed), bytes
}

func (s *sourceTest) Blocks() bool { return false }

func (s *sourceTest) IsBlocked([]byte) bool { return false }

func (s *sourceTest) Reclaim() (r Ref, ok bool) {
	if len(s.delayed) == 0 {
		return r, false
	}
	r = s.delayed[0].Ref
	s.delayed = s.delayed[1:]
	return r, true
}

// Take is Queue.Take into dst.
func (q *shardTest) Take(dst []item) int {
	return q.Queue.Take(len(dst), func(i int, r Ref) { dst[i] = newItem(r) })
}

// Settle is Queue.Settle of items.
func (q *shardTest) Settle(items []item, o Outcome, err error) {
	q.Queue.Settle(len(items), func(i int) Ref { return items[i].Ref }, o, err)
}
