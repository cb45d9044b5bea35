package retry

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAListKeepsItsOrderWithoutTheEventThatIsRemoved(t *testing.T) {
	t.Parallel()
	for at := range 4 {
		var l list[string]
		var want []*heldEvent[string]
		for range 4 {
			want = append(want, &heldEvent[string]{})
			l.add(want[len(want)-1])
		}
		l.remove(want[at])
		want = slices.Delete(want, at, at+1)
		assert.Len(t, l.events, 3)
		for i, e := range l.events {
			assert.Same(t, want[i], e)
		}
	}
}
