package footfall_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reply is a delayed answer to one request.
type reply struct {
	after  time.Duration
	answer func(*http.Request, string) (*http.Response, error)
}

// inTurn gives the replies to requests in the order of their arrival. All further requests get
// the last reply.
func inTurn(replies ...reply) func(*http.Request, string) (*http.Response, error) {
	var requests atomic.Int64
	return func(r *http.Request, body string) (*http.Response, error) {
		mine := replies[min(int(requests.Add(1)), len(replies))-1]
		time.Sleep(mine.after)
		return mine.answer(r, body)
	}
}

func TestSendingResumesAfterALongerRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(inTurn(
			reply{time.Millisecond, answerStatus(503)},
			reply{2 * time.Millisecond, answerRetryAfter(429, "60")},
			reply{0, answerStatus(202)},
		))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 2, time.Hour })
		track(t, tracker, 100)
		time.Sleep(61 * time.Second)
		assert.Equal(t, uint64(100), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// While the API accepts other events, the answer to an event that keeps failing does not affect
// them. Its Retry-After applies to that event only.
func TestRetryAfterOfARetryDelaysThatEventOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		began := time.Now()
		var told time.Time
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			switch {
			case !strings.Contains(body, "retried"):
				return answerStatus(202)(r, body)
			case time.Since(began) < 20*time.Second:
				return answerStatus(500)(r, body)
			case told.IsZero():
				told = time.Now()
				return answerRetryAfter(429, "60")(r, body)
			}
			assert.GreaterOrEqual(t, time.Since(told), time.Minute)
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		require.NoError(t, tracker.Track(context.Background(), "retried"))
		for n := range 600 {
			track(t, tracker, 1)
			time.Sleep(100 * time.Millisecond)
			if n%10 == 9 { // each second
				assert.Equal(t, uint64(n+1), tracker.Stats().Delivered)
			}
		}
		require.False(t, told.IsZero())
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// All events have been sent before, so only retries can be probes.
func TestAnOutageWithRetriesOnlyCostsFewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, "held") {
				return answerStatus(500)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		for range 200 {
			require.NoError(t, tracker.Track(context.Background(), "held"))
		}
		trackFor(tracker, 30*time.Second)
		time.Sleep(2 * time.Second)
		require.Equal(t, uint64(200), tracker.Stats().Queued)
		f.set(answerStatus(500))
		before := f.requests()
		time.Sleep(10 * time.Minute)
		assert.Less(t, f.requests()-before, 200)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAllSendersStartWhenTheAPITakesEventsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval = time.Hour })
		track(t, tracker, 1000)
		time.Sleep(time.Minute)
		f.set(inTurn(reply{100 * time.Millisecond, answerStatus(202)}))
		time.Sleep(20 * time.Second) // the next probe is sent within 15 s
		assert.Equal(t, uint64(1000), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAnEventWaitsForItsOwnRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(named("asked", inTurn(
			reply{time.Millisecond, answerStatus(500)},
			reply{time.Second, answerRetryAfter(503, "60")}, // after the others are delivered
			reply{0, answerStatus(202)},
		)))
		tracker := start(t, f)
		require.NoError(t, tracker.Track(context.Background(), "asked"))
		track(t, tracker, 99)
		time.Sleep(50 * time.Second)
		assert.Equal(t, 101, f.requests())
		time.Sleep(20 * time.Second)
		assert.Equal(t, 102, f.requests())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAnOutageOfChangingAnswersCostsFewRequests(t *testing.T) {
	for name, row := range map[string]struct {
		answers []int
		most    int // requests in an hour
	}{
		"of each kind":              {[]int{503, 401, 302, 500}, 100},
		"that refuse now and then":  {[]int{503, 503, 503, 403}, 300},
		"that are down and refused": {[]int{503, 403}, 120},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				n := 0
				f.set(func(r *http.Request, body string) (*http.Response, error) {
					n++
					return answerStatus(row.answers[n%len(row.answers)])(r, body)
				})
				tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 1 })
				track(t, tracker, 1000)
				time.Sleep(time.Hour)
				assert.Less(t, f.requests(), row.most)
				f.set(answerStatus(202))
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}
