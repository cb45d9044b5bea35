package footfall_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// propsByName returns the props of each event by the event's name.
func propsByName(events []footfalltest.Event) map[string]map[string]any {
	byName := make(map[string]map[string]any)
	for _, e := range events {
		byName[e.Name] = e.Props
	}
	return byName
}

// Of props with one key, those of the event come first, then those of the inner context, the outer one and Config.
func TestPropsComeFromEventThenContextThenConfig(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.Props = []footfall.Prop{footfall.P("version", "v1"), footfall.P("zone", "config"), footfall.P("zone", "last")}
	})
	above := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := footfall.WithProps(r.Context(), footfall.P("tenant", "a"), footfall.P("plan", "free"), footfall.P("by", "context"))
			next.ServeHTTP(w, r.WithContext(footfall.WithSite(ctx, "site_2")))
		})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(w http.ResponseWriter, r *http.Request) {
		ctx := footfall.WithProps(footfall.WithURL(r.Context(), "https://shop.example.com/"), footfall.P("plan", "paid"), footfall.P("zone", "inner"))
		assert.NoError(t, footfall.Track(ctx, "handler", footfall.P("by", "event")))
		assert.NoError(t, footfall.Track(footfall.WithProps(ctx), "plain"))
	})
	rule := footfall.Rule{Route: "GET /p", Event: "rule", Props: []footfall.Prop{footfall.P("by", "rule")}}
	above(tracker.Middleware(rule)(mux)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/p", nil))
	assert.Equal(t, map[string]map[string]any{
		"handler": {"version": "v1", "zone": "inner", "tenant": "a", "plan": "paid", "by": "event"},
		"plain":   {"version": "v1", "zone": "inner", "tenant": "a", "plan": "paid", "by": "context"},
		"rule":    {"version": "v1", "zone": "last", "tenant": "a", "plan": "free", "by": "rule"},
	}, propsByName(tracker.Events()))
	assert.Equal(t, map[string]string{"handler": "site_2", "plain": "site_2", "rule": "site_2"}, sites(tracker.Events()))
}

func TestABadPropOfTheContextIsNamedByTrack(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(slog.DiscardHandler) })
	ctx := footfall.WithProps(t.Context(), footfall.P("name", "\xff"), footfall.P("mail", "ada@example.com"))
	require.EqualError(t, tracker.Track(ctx, "bad"), `footfall: props["name"]: value is not valid UTF-8`)
	require.NoError(t, tracker.Track(ctx, "good", footfall.P("name", "n")))
	assert.Equal(t, map[string]any{"name": "n", "mail": "[redacted]"}, propsByName(tracker.Events())["good"])
	assert.Equal(t, []uint64{1, 1}, []uint64{tracker.Stats().Invalid, tracker.Stats().Redacted})
}

func TestWithPropsKeepsNothingOfTheCaller(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	props := []footfall.Prop{footfall.P("a", 1), footfall.P("b", 2)}
	outer := footfall.WithProps(t.Context(), props...)
	props[0] = footfall.P("changed", 1)
	inner, other := footfall.WithProps(outer, footfall.P("c", 3)), footfall.WithProps(outer, footfall.P("d", 4))
	require.NoError(t, tracker.Track(inner, "inner"))
	require.NoError(t, tracker.Track(other, "other"))
	assert.Equal(t, map[string]map[string]any{"inner": {"a": 1., "b": 2., "c": 3.}, "other": {"a": 1., "b": 2., "d": 4.}}, propsByName(tracker.Events()))
}

// Not parallel: it counts allocations.
func TestTrackAllocatesNothingForPropsOfConfigAndContext(t *testing.T) {
	tracker := cheapTracker(t, false, footfall.P("version", "v1"))
	ctx := footfall.WithProps(t.Context(), footfall.P("tenant", "a"), footfall.P("plan", "free"))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _ = tracker.Track(ctx, "x", footfall.P("plan", "paid")) }))
}
