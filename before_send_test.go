package footfall_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// hooked returns a tracker with BeforeSend and two props, which records its events.
func hooked(t *testing.T, before func(footfall.Event) (footfall.Event, bool)) *footfalltest.Tracker {
	return footfalltest.New(t, func(c *footfall.Config) {
		c.BeforeSend, c.Logger = before, slog.New(slog.DiscardHandler)
		c.Props = []footfall.Prop{footfall.P("version", "v1"), footfall.P("zone", "config")}
	})
}

func TestBeforeSendChangesAndDropsEvents(t *testing.T) {
	t.Parallel()
	var got []footfall.Event
	tracker := hooked(t, func(e footfall.Event) (footfall.Event, bool) {
		got = append(got, e)
		e.Name, e.SiteID, e.Props, e.ID = "changed", "site_2", e.Props[:1], "id"
		return e, e.URL != "https://shop.example.com/drop"
	})
	ctx := footfall.WithProps(footfall.WithURL(t.Context(), "https://shop.example.com/p"), footfall.P("zone", "context"), footfall.P("tenant", "a"))
	require.NoError(t, tracker.Track(ctx, "x", footfall.P("n", 1), footfall.P("tenant", "b")))
	require.NoError(t, tracker.Track(footfall.WithURL(ctx, "https://shop.example.com/drop"), "x"))
	require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "x", URL: "https://shop.example.com/drop"}), "it does not wait")
	want := []footfall.Prop{footfall.P("version", "v1"), footfall.P("zone", "context"), footfall.P("n", 1), footfall.P("tenant", "b")}
	assert.Equal(t, footfall.Event{SiteID: footfalltest.SiteID, Name: "x", URL: "https://shop.example.com/p", Props: want}, got[0])
	assert.Equal(t, []footfalltest.Event{{ID: "id", SiteID: "site_2", Name: "changed", URL: "https://shop.example.com/p", Props: map[string]any{"version": "v1"}}}, tracker.Events())
	s := tracker.Stats()
	assert.Equal(t, []uint64{1, 2, 0, 0}, []uint64{s.Tracked, s.Filtered, s.Invalid, s.Refused})
}

// What BeforeSend sees of a request has no personal data any more, and what it returns is guarded again.
func TestBeforeSendSeesAGuardedURLAndIsGuarded(t *testing.T) {
	t.Parallel()
	var seen string
	tracker := hooked(t, func(e footfall.Event) (footfall.Event, bool) {
		seen = e.URL
		e.Props = append(e.Props, footfall.P("mail", "ada@example.com"))
		return e, true
	})
	r := httptest.NewRequest(http.MethodGet, "https://shop.example.com/u/ada@example.com?utm_source=x&token=1", nil)
	require.NoError(t, tracker.TrackRequest(r, "x"))
	assert.Equal(t, "https://shop.example.com/u/[redacted]?utm_source=x", strings.ReplaceAll(strings.ReplaceAll(seen, "%5B", "["), "%5D", "]"))
	e := tracker.Events()[0]
	assert.Equal(t, seen, e.URL)
	assert.Equal(t, "[redacted]", e.Props["mail"])
	assert.Equal(t, uint64(2), tracker.Stats().Redacted)
}

func TestAnEventWhoseBeforeSendFailsIsNotSent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before func(footfall.Event) (footfall.Event, bool)
		err    string // "" if Track does not return
	}{
		"panic":     {func(footfall.Event) (footfall.Event, bool) { panic("oops") }, "footfall: panic in Config.BeforeSend: oops"},
		"goexit":    {func(footfall.Event) (footfall.Event, bool) { runtime.Goexit(); panic("unreachable") }, ""},
		"no name":   {func(e footfall.Event) (footfall.Event, bool) { e.Name = ""; return e, true }, "footfall: name: empty"},
		"a bad URL": {func(e footfall.Event) (footfall.Event, bool) { e.URL = "/p"; return e, true }, "footfall: url: not absolute: it needs http:// or https:// and a host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker, err := hooked(t, tc.before), error(nil)
			var done sync.WaitGroup
			done.Go(func() { err = tracker.Track(context.Background(), "x") })
			done.Wait()
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
			}
			s := tracker.Stats()
			assert.Equal(t, []uint64{0, 1, 0}, []uint64{s.Tracked, s.Invalid, s.Filtered})
			assert.Empty(t, tracker.Events())
		})
	}
}

// With a BeforeSend that changes nothing, events are the same as without one, whatever they are made of.
func TestABeforeSendThatChangesNothingIsNotNoticed(t *testing.T) {
	t.Parallel()
	with := hooked(t, func(e footfall.Event) (footfall.Event, bool) { return e, true })
	without := hooked(t, nil)
	texts := []string{"", "a", "é\"", "ada@example.com", "\xff", strings.Repeat("x", 3000)}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		text := func() string { return texts[r.IntN(len(texts))] }
		props := []footfall.Prop{footfall.P("zone", text()), footfall.P(fmt.Sprint("k", r.IntN(3)), r.IntN(9)), footfall.P("k1", text())}[r.IntN(4):]
		path := []string{"/", "/p", "/u/ada@example.com", "/%41/b", "/" + strings.Repeat("y", 2100)}[r.IntN(5)]
		rule := footfall.Rule{Route: footfall.AnyRoute, Props: props, StatusProp: "status"}
		more, url := footfall.P("k2", text()), []string{"", "https://a.example/é", "no"}[r.IntN(3)]
		var results [2]error
		for i, tracker := range []*footfalltest.Tracker{with, without} {
			request := httptest.NewRequest(http.MethodGet, path+"?utm_source=a&mail=ada@example.com", nil)
			request.Host = []string{"shop.example.com", "", "bad host"}[seed%3]
			ctx := footfall.WithProps(request.Context(), more)
			switch seed % 4 {
			case 0:
				results[i] = tracker.TrackRequest(request.WithContext(ctx), "x", props...)
			case 1:
				mux := http.NewServeMux()
				mux.HandleFunc("GET /", func(http.ResponseWriter, *http.Request) {})
				tracker.Middleware(rule)(mux).ServeHTTP(httptest.NewRecorder(), request)
			default:
				results[i] = tracker.TrackEvent(ctx, footfall.Event{Name: "x", URL: url, Props: props})
			}
		}
		require.Equal(t, results[1], results[0], "seed %d", seed)
	}
	got, want := with.Events(), without.Events()
	require.Len(t, got, len(want))
	for i := range got {
		got[i].ID, want[i].ID = "", ""
		require.Equal(t, want[i], got[i])
	}
	assert.Equal(t, without.Stats(), with.Stats())
}
