package stream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// failures is an API that accepts good events, and answers others with 503 after some time.
type failures struct {
	after time.Duration
	good  atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (s *failures) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: r}
	if strings.Contains(string(body), `"good"`) {
		s.good.Add(1)
		return answer, nil
	}
	time.Sleep(s.after)
	answer.StatusCode = http.StatusServiceUnavailable
	return answer, nil
}

// openFailing opens a tracker with a stream, whose relay delivers to api. It closes with the test.
func openFailing(t *testing.T, api http.RoundTripper, expired *atomic.Int64) *footfall.Tracker {
	t.Helper()
	tr, err := openSimulated(footfall.Config{
		BaseURL: "http://127.0.0.1:8080", APIKey: "sk_test", SiteID: "shop", DefaultURL: "https://shop.example.com/",
		AllowHTTP: true, HTTPClient: &http.Client{Transport: api},
	}, newBroker(30*time.Second, expired))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = tr.Close(ctx)
		time.Sleep(time.Minute) // the relay ends
	})
	return tr
}

// A relay is full of events that fail slowly, some of which are due at all times. They wait for their share of the
// senders, so others can be sent, although the API is not away.
func TestARelayMakesRoomForOthersWhileEventsThatFailAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &failures{after: time.Second}
		var expired atomic.Int64
		tr := openFailing(t, api, &expired)
		for i := range 2000 { // more than the relay holds
			require.NoError(t, tr.Track(t.Context(), fmt.Sprint("bad_", i%100)))
		}
		sent := int64(0)
		for range 600 { // events of an accepted kind, of which the API has accepted one each second
			require.NoError(t, tr.Track(t.Context(), "good"))
			sent++
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		assert.Equal(t, sent, api.good.Load())
		assert.Zero(t, expired.Load())
	})
}

// The only events that the API would accept are behind 10,000 others, of which the relay holds a tenth.
func TestARelayFindsTheEventsBehindManyThatFail(t *testing.T) {
	if testing.Short() {
		t.Skip("the simulated broker looks at 10,000 messages each time")
	}
	synctest.Test(t, func(t *testing.T) {
		api := &failures{}
		var expired atomic.Int64
		tr := openFailing(t, api, &expired)
		for range 10_000 {
			require.NoError(t, tr.Track(t.Context(), "bad"))
		}
		time.Sleep(2 * time.Minute)
		for range 10 {
			require.NoError(t, tr.Track(t.Context(), "good"))
		}
		began := time.Now()
		for api.good.Load() < 10 && time.Since(began) < time.Hour {
			time.Sleep(time.Second)
		}
		t.Log(time.Since(began))
		assert.Less(t, time.Since(began), 6*time.Minute)
		assert.Zero(t, expired.Load())
	})
}

// bounded is an API that accepts so many events with the name limited a second, and all others.
type bounded struct {
	perSecond float64
	good      atomic.Int64

	mu     sync.Mutex
	tokens float64
	at     time.Time
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: r, Header: http.Header{}}
	switch {
	case strings.Contains(string(body), `"good"`):
		b.good.Add(1)
	case !b.takes():
		answer.StatusCode = http.StatusTooManyRequests
		answer.Header.Set("Retry-After", "1")
	}
	return answer, nil
}

func (b *bounded) takes() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.tokens, b.at = min(max(1, b.perSecond/10), b.tokens+now.Sub(b.at).Seconds()*b.perSecond), now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// A relay is full of events of a kind whose rate the API bounds, one of which has its turn at most times.
func TestARelayTakesOthersBesideAKindWhoseRateIsBounded(t *testing.T) {
	for _, perSecond := range []float64{0.5, 2, 10, 50, 200} {
		t.Run(fmt.Sprint(perSecond, " a second"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &bounded{perSecond: perSecond}
				var expired atomic.Int64
				tr := openFailing(t, api, &expired)
				const before = 4000
				for range before {
					require.NoError(t, tr.Track(t.Context(), "limited"))
				}
				for sent := range int64(300) {
					require.NoError(t, tr.Track(t.Context(), "good"))
					time.Sleep(time.Second)
					if sent > before/256+5 { // the relay has looked at all that were there before
						assert.LessOrEqual(t, sent-5, api.good.Load(), "two looks for room, and the time to see that the rate is bounded")
					}
				}
				assert.Zero(t, expired.Load())
			})
		})
	}
}
