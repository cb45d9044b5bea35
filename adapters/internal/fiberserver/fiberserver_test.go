package fiberserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func does(err error, calls *int) func(context.Context) error {
	return func(context.Context) error { *calls++; return err }
}

func TestShutdownStopsOnceAndThenAgainUntilTheAppHasServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listening, served := make(chan struct{}), make(chan struct{})
		stops, again := 0, 0
		ended := make(chan error, 1)
		go func() { ended <- Shutdown(t.Context(), listening, served, does(nil, &stops), does(nil, &again)) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Zero(t, stops, "the app does not listen")
		close(listening)
		time.Sleep(35 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []int{1, 3}, []int{stops, again})
		close(served)
		assert.NoError(t, <-ended)
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, listens := range map[string]bool{"before the app listens": false, "before the app has served": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				listening := make(chan struct{})
				if listens {
					close(listening)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				calls := 0
				err := Shutdown(ctx, listening, make(chan struct{}), does(nil, &calls), does(nil, &calls))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, listens, calls > 1)
			})
		})
	}
}

func TestShutdownReturnsTheErrorOfFiber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listening, failed, calls := make(chan struct{}), errors.New("it fails"), 0
		close(listening)
		assert.Equal(t, failed, Shutdown(t.Context(), listening, nil, does(failed, &calls), does(nil, &calls)))
		assert.Equal(t, failed, Shutdown(t.Context(), listening, nil, does(nil, &calls), does(failed, &calls)))
		assert.Equal(t, 3, calls)
	})
}
