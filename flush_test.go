package footfall_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlushReturnsWhenEverythingAcceptedBeforeIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 50 * time.Millisecond
		tracker := start(t, f)
		track(t, tracker, 10)
		began := time.Now()
		go func() { // later events do not delay it
			for range 100 {
				_ = tracker.Track(context.Background(), "later")
				time.Sleep(10 * time.Millisecond)
			}
		}()
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Less(t, time.Since(began), 400*time.Millisecond)
		delivered, _ := f.delivered()
		assert.GreaterOrEqual(t, delivered, 10)
		time.Sleep(2 * time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestFlushObeysItsContextAndKeepsTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 3)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		began := time.Now()
		err := tracker.Flush(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Contains(t, err.Error(), "3 events not settled")
		assert.Equal(t, 2*time.Second, time.Since(began))
		assert.Equal(t, uint64(3), tracker.Stats().Queued)
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestFlushWithNothingQueuedReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet())
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Second))
		require.NoError(t, tracker.Flush(context.Background()), "after Close too")
	})
}

func TestFlushReturnsWhenCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f)
		track(t, tracker, 1)
		flushed := make(chan error, 1)
		go func() { flushed <- tracker.Flush(context.Background()) }()
		synctest.Wait()
		require.Error(t, closeWithin(tracker, time.Second))
		select {
		case <-flushed:
		case <-time.After(time.Second):
			t.Error("Flush waits for events that were given up")
		}
	})
}

func TestFlushAndCloseTreatANilContextAsEndless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Second
		tracker := start(t, f)
		var none context.Context
		track(t, tracker, 10)
		require.NoError(t, tracker.Flush(none))
		assert.Equal(t, uint64(10), tracker.Stats().Delivered)
		track(t, tracker, 10)
		require.NoError(t, tracker.Close(none))
		require.NoError(t, tracker.Close(none))
		assert.Equal(t, uint64(20), tracker.Stats().Delivered)
	})
}

func TestFlushWithANilContextReachesTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Transport = flushing{t} })
		var none context.Context
		require.NoError(t, tracker.Flush(none))
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// flushing is a Transport whose Flush requires a context.
type flushing struct{ t *testing.T }

func (flushing) Deliver(ctx context.Context, src *footfall.Source) { src.Wait(ctx) }

func (f flushing) Flush(ctx context.Context) error {
	assert.NotNil(f.t, ctx)
	return nil
}
