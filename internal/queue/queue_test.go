package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheCauseIsWhyAnEventWasLostLast(t *testing.T) {
	t.Parallel()
	failure, first, second := errors.New("an attempt failed"), errors.New("first"), errors.New("second")
	settle := func(o Outcome, causes ...error) func(*shardTest) error {
		return func(q *shardTest) error {
			for _, err := range causes {
				var one [1]item
				q.Take(one[:])
				q.Settle(one[:], o, err)
			}
			return nil
		}
	}
	move := func(n int, o Outcome) func(*shardTest) error {
		return func(q *shardTest) error {
			_ = settle(Stored, nil)(q)
			return q.Moved(n, o)
		}
	}
	for name, row := range map[string]struct {
		do   func(*shardTest) error
		want error
	}{
		"no event has ended":                {settle(Lost), failure},
		"two events are lost":               {settle(Lost, first, second), second},
		"an event is lost as Deliver ends":  {settle(Lost, first, context.Canceled), first},
		"an event is lost only as it ends":  {settle(Lost, context.Canceled), context.Canceled},
		"an event is rejected":              {settle(Rejected, first), failure},
		"a stored event is delivered later": {move(1, Delivered), failure},
		"a stored event is rejected later":  {move(1, Rejected), failure},
		"a stored event is lost later":      {move(1, Lost), errGivenUp},
		"no stored event is lost":           {move(0, Lost), failure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newShardTest(1)
			for n := range 3 {
				require.NoError(t, q.Put(&Hint{}, number(n), 0))
			}
			require.NoError(t, row.do(q))
			_, cause := q.End(failure)
			assert.Equal(t, row.want, cause)
		})
	}
}

// blocking is Delayed with events of a kind that waits for a breaker: those whose body begins with a zero.
type blocking struct{ *sourceTest }

func (blocking) Blocks() bool { return true }

func (blocking) IsBlocked(body []byte) bool { return body[0] == 0 }

func TestEventsThatWaitForABreakerLeaveAQuarterOfTheRoom(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 4} {
		for name, room := range map[string]func(*Options){
			"events": func(o *Options) { o.MaxEvents = 1000 },
			"bytes":  func(o *Options) { o.MaxBytes = 8 * 1000 },
		} {
			t.Run(fmt.Sprint(name, ", shards ", shards), func(t *testing.T) {
				t.Parallel()
				q := newShardTest(shards, room, func(o *Options) { o.Delayed = blocking{&sourceTest{}} })
				put := func(body []byte) (n int) {
					for i := range 2000 {
						if q.Put(&Hint{shard: i % shards}, body, 0) == nil {
							n++
						}
					}
					return n
				}
				n := put([]byte("\x00blocked"))
				assert.InDelta(t, 750, n, 1000/32, "up to the credit in the last quarter")
				assert.Equal(t, 1000-n, put([]byte("accepted")))
			})
		}
	}
}
