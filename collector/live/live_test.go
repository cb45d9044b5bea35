package live_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/live"
	"github.com/footfall-dev/footfall/collector/store"
)

func TestWatchersSeeTheEventsOfTheirSite(t *testing.T) {
	t.Parallel()
	var hub live.Hub
	hub.Publish(store.Event{Site: "a", Name: "before anybody watches"})
	one, stopOne := hub.Watch("a")
	two, stopTwo := hub.Watch("a")
	other, stopOther := hub.Watch("b")
	defer stopOther()
	hub.Publish(store.Event{Site: "a", Name: "seen"})
	assert.Equal(t, "seen", (<-one).Name)
	assert.Equal(t, "seen", (<-two).Name)
	stopOne()
	stopOne() // twice is harmless
	hub.Publish(store.Event{Site: "a", Name: "later"})
	assert.Equal(t, "later", (<-two).Name)
	stopTwo()
	hub.Publish(store.Event{Site: "a", Name: "too late"})
	assert.Empty(t, one)
	assert.Empty(t, two)
	assert.Empty(t, other)
}

func TestPublishNeverWaitsForASlowWatcher(t *testing.T) {
	t.Parallel()
	var hub live.Hub
	events, stop := hub.Watch("a")
	defer stop()
	for range 1000 {
		hub.Publish(store.Event{Site: "a"})
	}
	assert.Len(t, events, cap(events))
}

func TestHubMayBeUsedFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var hub live.Hub
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 200 {
				_, stop := hub.Watch("a")
				hub.Publish(store.Event{Site: "a"})
				stop()
			}
		})
	}
	work.Wait()
}
