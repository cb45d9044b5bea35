package footfall

import (
	"context"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Sums and multiples of durations must not overflow: BackoffMax of 200 years made waits of less
// than zero.
func TestDurationsOfMoreThanAYearAreRefused(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, field := range []string{"FlushInterval", "AttemptTimeout", "BackoffMax", "MaxRetryAfter", "ProbeMax", "ShutdownTimeout", "CloseTimeout"} {
		for d, wrong := range map[time.Duration]bool{year: false, year + 1: true, math.MaxInt64: true} {
			cfg := rightConfig()
			reflect.ValueOf(&cfg).Elem().FieldByName(field).SetInt(int64(d))
			if err := cfg.checkAsNewDoes(); wrong {
				assert.Equal(t, []string{field}, fieldsOf(t, err), d)
			} else {
				assert.NoError(t, err, field)
			}
		}
	}
	_, err := NewClient(ClientConfig{BaseURL: "https://api.example.com", APIKey: secretKey, Timeout: math.MaxInt64})
	assert.Equal(t, []string{"Timeout"}, fieldsOf(t, err))
}

// New sets nothing aside for bounds of the queue, so any number is fine.
func TestTheLargestNumbersWork(t *testing.T) {
	t.Parallel()
	cfg := rightConfig()
	cfg.MaxQueueEvents, cfg.MaxQueueBytes, cfg.MaxEventBytes, cfg.BatchSize = math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt
	cfg.Limits = noLimits
	cfg.DefaultURL, cfg.Transport = "https://example.com/", settling{}
	tracker, err := New(cfg)
	require.NoError(t, err)
	for range 1000 {
		require.NoError(t, tracker.Track(t.Context(), "tested", P("k", "v"), P("k", "w")))
	}
	require.NoError(t, tracker.Flush(t.Context()))
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, Stats{Tracked: 1000, Delivered: 1000}, tracker.Stats())
}

// settling is a Transport that settles every record as Delivered.
type settling struct{}

func (settling) Deliver(ctx context.Context, src *Source) {
	one := make([]Record, 1)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for src.Take(one) == 1 {
			src.Settle(one, OutcomeDelivered, nil)
		}
	}
}

func TestAFieldThatIsLessThanAnotherNamesBothValues(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		"BackoffMax: 15s (the default) is less than BackoffMin, which is 1m0s":  func(c *Config) { c.BackoffMin = time.Minute },
		"BackoffMax: 1ms is less than BackoffMin, which is 500ms (the default)": func(c *Config) { c.BackoffMax = time.Millisecond },
		"BackoffMax: 1s is less than BackoffMin, which is 2s":                   func(c *Config) { c.BackoffMin, c.BackoffMax = 2*time.Second, time.Second },
		"ProbeMax: 5m0s (the default) is less than ProbeMin, which is 1h0m0s":   func(c *Config) { c.ProbeMin = time.Hour },
		"MaxQueueBytes: 100 is less than MaxEventBytes, which is 32768 (the default): the largest event could never be queued": func(c *Config) {
			c.MaxQueueBytes = 100
		},
	} {
		cfg := rightConfig()
		change(&cfg)
		assert.EqualError(t, cfg.checkAsNewDoes(), "footfall: Config."+want)
	}
}
