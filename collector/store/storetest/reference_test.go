package storetest_test

import (
	"testing"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestReferencePassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(_ *testing.T, now func() time.Time) store.Store {
		r := storetest.NewReference()
		r.Now = now
		return r
	})
}

func TestReferenceRemembersKeysForItsIdempotencyWindow(t *testing.T) {
	t.Parallel()
	storetest.RunIdempotencyWindow(t, func(_ *testing.T, now func() time.Time, window time.Duration) store.Store {
		r := storetest.NewReference()
		r.Now, r.IdempotencyWindow = now, window
		return r
	})
}
