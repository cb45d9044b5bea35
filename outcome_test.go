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
		footfall.OutcomeLost:      "lost",
		footfall.OutcomeDelivered: "delivered",
		footfall.OutcomeRejected:  "rejected",
		footfall.OutcomeStored:    "stored",
		4:                         "Outcome(4)",
		9:                         "Outcome(9)",
		255:                       "Outcome(255)",
	} {
		assert.Equal(t, want, fmt.Sprint(outcome))
	}
}

func TestOutcomesMatchTheOutcomesOfTheQueue(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, queue.Lost, footfall.OutcomeLost)
	assert.EqualValues(t, queue.Delivered, footfall.OutcomeDelivered)
	assert.EqualValues(t, queue.Rejected, footfall.OutcomeRejected)
	assert.EqualValues(t, queue.Stored, footfall.OutcomeStored)
}
