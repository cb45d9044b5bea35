package stream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// slowFailures answers events with a name of one letter after a second with 503, and accepts others.
type slowFailures struct{ good atomic.Int64 }

// RoundTrip implements http.RoundTripper.
func (s *slowFailures) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: r}
	if strings.Contains(string(body), `"good"`) {
		s.good.Add(1)
		return answer, nil
	}
	time.Sleep(time.Second)
	answer.StatusCode = http.StatusServiceUnavailable
	return answer, nil
}

// A relay is full of events that fail slowly, some of which are due at all times. They wait for their share of the
// senders, so others can be sent, although the API is not away.
func TestARelayMakesRoomForOthersWhileEventsThatFailAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &slowFailures{}
		var expired atomic.Int64
		tr, err := openSimulated(footfall.Config{
			BaseURL: "http://127.0.0.1:8080", APIKey: "sk_test", SiteID: "shop", DefaultURL: "https://shop.example.com/",
			AllowHTTP: true, HTTPClient: &http.Client{Transport: api},
		}, newBroker(30*time.Second, &expired))
		require.NoError(t, err)
		defer func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_ = tr.Close(ctx)
		}()
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
