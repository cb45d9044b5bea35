package footfall

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"

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
