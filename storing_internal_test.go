package footfall

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// oneStore is a Store whose records are all taken.
type oneStore struct{}

func (oneStore) Waiting() (n int, more bool)                    { return 0, false }
func (oneStore) Take([]Record) int                              { return 0 }
func (oneStore) Retry(r Record, _ error) (kept Record, ok bool) { return r, true }
func (oneStore) Settle([]Record, Outcome, error)                {}

func TestAnyAnswerWhileTheTrackerClosesMakesFailedEventsDueAgain(t *testing.T) {
	for o, due := range map[Outcome]int{OutcomeDelivered: 1, OutcomeRejected: 1, OutcomeStored: 1, OutcomeLost: 0} {
		s := NewSource(oneStore{})
		s.Close()
		failed := Record{ID: uuid.New()}
		failed.attempts.AtClose = true
		s.Retry(failed, 0, errors.New("away"))
		s.held.Suspend()
		s.Settle([]Record{{ID: uuid.New()}}, o, nil)
		assert.Equal(t, due, s.held.Due(time.Now()), o)
	}
}
