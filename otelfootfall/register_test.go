package otelfootfall_test

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/otelfootfall"
)

// point is one value of an instrument.
type point struct {
	unit      string
	monotonic bool
	value     int64
}

// collect returns the values by name, error.type and site.
func collect(t *testing.T, reader *sdk.ManualReader) map[string]point {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	points := make(map[string]point)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			assert.NotEmpty(t, m.Description, m.Name)
			sum, ok := m.Data.(metricdata.Sum[int64])
			require.True(t, ok, m.Name)
			assert.Equal(t, metricdata.CumulativeTemporality, sum.Temporality)
			for _, p := range sum.DataPoints {
				var name strings.Builder
				name.WriteString(m.Name)
				for _, kv := range p.Attributes.ToSlice() {
					name.WriteString(" " + string(kv.Key) + "=" + kv.Value.AsString())
				}
				points[name.String()] = point{m.Unit, sum.IsMonotonic, p.Value}
			}
		}
	}
	return points
}

func provider(t *testing.T) (*sdk.MeterProvider, *sdk.ManualReader) {
	t.Helper()
	reader := sdk.NewManualReader()
	p := sdk.NewMeterProvider(sdk.WithReader(reader))
	t.Cleanup(func() { assert.NoError(t, p.Shutdown(context.Background())) })
	return p, reader
}

func TestEachFieldOfStatsIsObserved(t *testing.T) {
	api := footfalltest.NewAPI(t)
	cfg := api.Config()
	cfg.OnRejected = func(*footfall.RejectedError) {}
	cfg.MaxQueueEvents = 3
	cfg.BeforeSend = func(e footfall.Event) (footfall.Event, bool) { return e, e.Name != "filtered" }
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = tracker.Close(ctx) // the API hangs
	})
	p, reader := provider(t)
	unregister, err := otelfootfall.Register(tracker, p)
	require.NoError(t, err)

	api.Next(footfalltest.Status(400))
	require.NoError(t, tracker.Track(t.Context(), "refused_by_the_api"))
	require.NoError(t, tracker.Flush(t.Context()))
	require.NoError(t, tracker.Track(t.Context(), "delivered", footfall.P("ip", "192.0.2.1")))
	require.NoError(t, tracker.Track(t.Context(), "delivered"))
	require.NoError(t, tracker.Flush(t.Context()))
	assert.Error(t, tracker.Track(t.Context(), ""))
	require.NoError(t, tracker.Track(t.Context(), "filtered"))
	api.Always(footfalltest.Hang())
	for range 3 {
		require.NoError(t, tracker.Track(t.Context(), "queued"))
	}
	assert.ErrorIs(t, tracker.Track(t.Context(), "too many"), footfall.ErrQueueFull)

	bytes := int64(tracker.Stats().QueuedBytes)
	assert.Positive(t, bytes)
	assert.Equal(t, map[string]point{
		"footfall.event.tracked":                         {"{event}", true, 6},
		"footfall.event.processed":                       {"{event}", true, 2},
		"footfall.event.processed error.type=rejected":   {"{event}", true, 1},
		"footfall.event.processed error.type=dropped":    {"{event}", true, 0},
		"footfall.event.refused error.type=invalid":      {"{event}", true, 1},
		"footfall.event.refused error.type=not_accepted": {"{event}", true, 1},
		"footfall.event.filtered":                        {"{event}", true, 1},
		"footfall.event.sanitized":                       {"{event}", true, 0},
		"footfall.value.redacted":                        {"{value}", true, 1},
		"footfall.queue.size":                            {"{event}", false, 3},
		"footfall.queue.memory":                          {"By", false, bytes},
		"footfall.store.size":                            {"{event}", false, 0},
	}, collect(t, reader))
	assert.Len(t, collect(t, reader), reflect.TypeFor[footfall.Stats]().NumField(), "a field of Stats has no value")

	require.NoError(t, unregister())
	assert.Empty(t, collect(t, reader), "after unregister")
}

func TestTrackersAreToldApartByAttributes(t *testing.T) {
	p, reader := provider(t)
	for _, site := range []string{"shop", "blog"} {
		tracker := footfalltest.New(t)
		_, err := otelfootfall.Register(tracker.Tracker, p, attribute.String("site", site))
		require.NoError(t, err)
		require.NoError(t, tracker.Track(t.Context(), "x"))
	}
	points := collect(t, reader)
	assert.EqualValues(t, 1, points["footfall.event.tracked site=shop"].value)
	assert.EqualValues(t, 1, points["footfall.event.tracked site=blog"].value)
	assert.Contains(t, points, "footfall.event.processed error.type=dropped site=blog")
}

func TestTheGlobalProviderIsTheDefault(t *testing.T) {
	p, reader := provider(t)
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(p)
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	_, err := otelfootfall.Register(nil, nil)
	require.NoError(t, err)
	assert.Len(t, collect(t, reader), 12, "a nil tracker has zeros")
}

// The documentation names each instrument.
func TestTheTableOfTheReadmeIsComplete(t *testing.T) {
	p, reader := provider(t)
	_, err := otelfootfall.Register(nil, p)
	require.NoError(t, err)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("register.go")
	require.NoError(t, err)
	for name, value := range collect(t, reader) {
		name, kind, _ := strings.Cut(name, " error.type=")
		assert.Contains(t, string(readme), "| `"+name+"` | `"+value.unit+"` |")
		assert.Regexp(t, "//\t"+name+" +"+value.unit+" ", string(source))
		assert.Contains(t, string(readme), kind)
	}
}
