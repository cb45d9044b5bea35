package collector

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestOneKeyIsLimitedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{KeyRate: 0.1, KeyBurst: 3})
	other, _, err := s.Account().IssueKey(t.Context(), "other")
	require.NoError(t, err)
	send := func(key string) answer {
		return s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"), "Authorization", "Bearer "+key)
	}
	for range 3 {
		assert.Equal(t, 202, send(s.key).status)
	}
	got := send(s.key)
	assert.Equal(t, http.StatusTooManyRequests, got.status)
	assert.Equal(t, `{"error":"rate_limited","message":"too many events with this API key","status":429}`, got.body)
	assert.Regexp(t, `^(9|10)$`, got.header.Get("Retry-After"))
	assert.Equal(t, 202, send(other).status)
	assert.Equal(t, 200, s.api(t, "GET", "/v1/sites", "").status, "it is a limit of events")
	assert.Equal(t, 202, s.browse(t, pageview).status, "browser events do not count")
	assert.Len(t, s.stored(t), 5, "what was refused is not stored")
}

func TestRotatedKeyHasTheLimitOfTheOldOne(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{KeyRate: 0.1, KeyBurst: 1})
	require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
	var err error
	s.key, _, err = s.Account().RotateKey(t.Context(), s.Account().Keys()[0].ID)
	require.NoError(t, err)
	assert.Equal(t, 429, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
}

func TestRetryAfterOfAKeyIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, Config{KeyRate: 0.1, KeyBurst: 2})
		post := func() (status, wait int) {
			w := s.post(t.Context(), s.event("x", pageURL, "{}"))
			wait, _ = strconv.Atoi(w.Header().Get("Retry-After"))
			return w.Code, wait
		}
		for range 2 {
			status, _ := post()
			require.Equal(t, 202, status)
		}
		for range 5 {
			status, wait := post()
			require.Equal(t, 429, status)
			require.Equal(t, 10, wait)
			time.Sleep(time.Duration(wait)*time.Second - time.Nanosecond)
			status, wait = post()
			require.Equal(t, 429, status, "a moment too early")
			require.Equal(t, 1, wait)
			time.Sleep(time.Nanosecond)
			status, _ = post()
			require.Equal(t, 202, status)
		}
	})
}

func TestKeyHasNoLimitIfItIsNegative(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{KeyRate: -1})
	for range 1000 {
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
	}
}

// TestClientsOfASlowStoreGetRetryAfter uses a store that adds one event at a time, and
// more clients than MaxPending, on real sockets. Each client obeys Retry-After.
func TestClientsOfASlowStoreGetRetryAfter(t *testing.T) {
	t.Parallel()
	const clients, mayWait = 12, 3
	reference := storetest.NewReference()
	var one sync.Mutex
	var refused sync.WaitGroup // the store blocks until all others are refused
	refused.Add(clients - mayWait)
	s := serve(t, Config{MaxPending: mayWait, Store: adding{reference, func(ctx context.Context, e store.Event) (bool, error) {
		refused.Wait()
		one.Lock()
		defer one.Unlock()
		return reference.Add(ctx, e)
	}}})
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			post := func() answer {
				return s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"), "Idempotency-Key", strconv.Itoa(i))
			}
			got := post()
			if got.status == 503 {
				assert.Equal(t, `{"error":"unavailable","message":"too many events are waiting to be stored","status":503}`, got.body)
				assert.Equal(t, "1", got.header.Get("Retry-After"))
				refused.Done()
				assert.Eventually(t, func() bool { got = post(); return got.status != 503 }, 10*time.Second, time.Second)
			}
			assert.Equal(t, 202, got.status)
		})
	}
	wg.Wait()
	assert.Len(t, s.stored(t), clients)
	assert.Zero(t, s.pending.Load())
}
