package footfall_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/queue"
)

func TestAnOutcomePrintsItsName(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[footfall.Outcome]string{
		footfall.Lost:      "lost",
		footfall.Delivered: "delivered",
		footfall.Rejected:  "rejected",
		footfall.Stored:    "stored",
		4:                  "Outcome(4)",
		9:                  "Outcome(9)",
		255:                "Outcome(255)",
	} {
		assert.Equal(t, want, fmt.Sprint(outcome))
	}
}

func TestOutcomesMatchTheOutcomesOfTheQueue(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, queue.Lost, footfall.Lost)
	assert.EqualValues(t, queue.Delivered, footfall.Delivered)
	assert.EqualValues(t, queue.Rejected, footfall.Rejected)
	assert.EqualValues(t, queue.Stored, footfall.Stored)
}
