package queue

import (
	"context"
	"errors"
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
