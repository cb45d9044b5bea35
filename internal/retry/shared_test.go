package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAKindHasItsOwnBreakerIfAnotherHasLongNotFailed(t *testing.T) {
	t.Parallel()
	for _, ago := range []time.Duration{time.Second, time.Minute} {
		w := newWorld()
		for n := range maxKinds {
			w.fail(1, Failure{}, kind(1, n))
			w.try(kind(1, n), nil)
		}
		w.pass(ago)
		next := kind(1, maxKinds)
		w.fail(1, Failure{}, next)
		assert.Equal(t, ago > lately, w.kinds[next] != nil, "others have failed %v ago", ago)
	}
}
