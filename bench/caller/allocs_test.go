//go:build ci && !race

package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/report"
)

// With the race detector a sync.Pool drops items at random.
func TestFootfallsCallerAllocatesNothing(t *testing.T) {
	var found costs
	require.NoError(t, alone(t.Context(), contestants()[0], &found))
	assert.Zero(t, report.Median(found.allocs))
}
