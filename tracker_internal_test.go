package footfall

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type deaf struct{}

func (deaf) Deliver(ctx context.Context, src *Source) { <-src.Closing() }

func TestTrackDurableThatRunsOutOfTimeKeepsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := New(Config{SiteID: "site_1", DefaultURL: "https://example.com/", Transport: deaf{}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, tracker.TrackDurable(ctx, Event{Name: "paid"}), context.Canceled)
		assert.Zero(t, reflect.ValueOf(tracker.queue).Elem().FieldByName("waiters").Len())
		assert.Error(t, tracker.Close(t.Context()))
	})
}

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
		failed := Record{ID: EventID(uuid.New())}
		failed.attempts.AtClose = true
		s.Retry(failed, 0, errors.New("away"))
		s.held.Suspend()
		s.Settle([]Record{{ID: EventID(uuid.New())}}, o, nil)
		assert.Equal(t, due, s.held.Due(time.Now()), o)
	}
}
