package footfall_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestATransportTellsWhetherItsBreakerIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{kept: make(map[string]bool)}
		cfg := footfall.Config{SiteID: "site_1", DefaultURL: "https://example.com/", Logger: (&footfalltest.Log{}).Logger(), BackoffMin: 20 * time.Second, BackoffMax: 20 * time.Second}
		var err error
		cfg.Transport, err = footfall.NewStoringTransport(cfg, b)
		require.NoError(t, err)
		open := cfg.Transport.(footfall.Breaker).Open
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		assert.False(t, open())

		b.fail(errors.New("away"))
		track(t, tracker, 1)
		time.Sleep(time.Millisecond)
		assert.False(t, open(), "a single event has failed once, perhaps for its own reason")
		time.Sleep(2 * time.Minute)
		assert.True(t, open(), "it fails again and again, and no other passes")
		b.fail(nil)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.False(t, open())
		require.NoError(t, tracker.Close(t.Context()))
	})
}

func TestABreakerIsOpenAtOnceIfManyFail(t *testing.T) {
	for name, answer := range map[string]answerFunc{"no answer": answerDown, "Retry-After": answerRetryAfter(503, "60")} {
		t.Run(name, func(t *testing.T) { opensAtOnce(t, answer, 1000) })
	}
}

func opensAtOnce(t *testing.T, answer func(*http.Request, string) (*http.Response, error), events int) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(answer)
		cfg := footfall.Config{
			BaseURL: "https://api.example.com", APIKey: "key", SiteID: "site_1", DefaultURL: "https://example.com/",
			HTTPClient: &http.Client{Transport: f}, Logger: (&footfalltest.Log{}).Logger(),
		}
		var err error
		cfg.Transport, err = footfall.NewHTTPTransport(cfg)
		require.NoError(t, err)
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		track(t, tracker, events)
		time.Sleep(100 * time.Millisecond)
		assert.True(t, cfg.Transport.(footfall.Breaker).Open())
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(t.Context()))
		assert.False(t, cfg.Transport.(footfall.Breaker).Open())
		require.NoError(t, tracker.Close(t.Context()))
	})
}
