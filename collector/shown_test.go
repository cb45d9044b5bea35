package collector

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

func TestRepeatedEventIsShownOnceInLiveViews(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	events, stop := s.live.Watch(s.site.ID)
	defer stop()
	send := func(key string) {
		r := s.request(s.event("order", pageURL, "{}"))
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		require.Equal(t, 202, s.record(r).Code)
	}
	for _, key := range []string{"a", "a", "b", "a", "", ""} {
		send(key)
	}
	assert.Len(t, events, 4, "a and b once, those without a key always")
	assert.Len(t, s.stored(t), 4)
}

func TestShownKeysAreRememberedForTheIdempotencyWindow(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{IdempotencyWindow: 72 * time.Hour})
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	assert.True(t, s.shown.first(&store.Event{Site: "s", Key: "a", At: at}))
	assert.False(t, s.shown.first(&store.Event{Site: "s", Key: "a", At: at.Add(72*time.Hour - 1)}))
	assert.True(t, s.shown.first(&store.Event{Site: "s", Key: "a", At: at.Add(72 * time.Hour)}))
}

func TestShownKeysAreBoundedAndForgottenWithTheStores(t *testing.T) {
	t.Parallel()
	s := newShown(8, store.DuplicateFor)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	e := func(key string, after time.Duration) *store.Event {
		return &store.Event{Site: "s", Key: key, At: at.Add(after)}
	}
	assert.True(t, s.first(e("a", 0)))
	assert.False(t, s.first(e("a", store.DuplicateFor-1)))
	assert.True(t, s.first(&store.Event{Site: "other", Key: "a", At: at}))
	assert.True(t, s.first(e("a", store.DuplicateFor)), "a store would take it again")
	for i := range 1000 {
		assert.True(t, s.first(e(strconv.Itoa(i), 0)))
		assert.LessOrEqual(t, len(s.young)+len(s.old), 8)
	}
	assert.False(t, s.first(e("996", 0)), "the last four at least")
}
