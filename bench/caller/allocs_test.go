//go:build !race

package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/report"
)

// With the race detector a sync.Pool forgets at random what is put into it.
func TestFootfallsCallerAllocatesNothing(t *testing.T) {
	var found costs
	require.NoError(t, alone(t.Context(), contestants()[0], &found))
	assert.Zero(t, report.Median(found.allocs))
}
