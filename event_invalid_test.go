package footfall_test

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

var invalidProp = footfall.InvalidProp("Order.Amount", "not a number")

func TestTrackRefusesAnInvalidProp(t *testing.T) {
	t.Parallel()
	event := footfall.Event{Name: "order_placed", Props: []footfall.Prop{footfall.P("a", 1), invalidProp, footfall.P("z", 1)}}
	for name, track := range map[string]func(*footfall.Tracker) error{
		"Track":        func(tr *footfall.Tracker) error { return tr.Track(t.Context(), event.Name, event.Props...) },
		"TrackDurable": func(tr *footfall.Tracker) error { return tr.TrackDurable(t.Context(), event) },
		"TrackRequest": func(tr *footfall.Tracker) error {
			return tr.TrackRequest(httptest.NewRequest("GET", "/", nil), event.Name, event.Props...)
		},
		"Encode": func(tr *footfall.Tracker) error {
			_, err := tr.Encode(t.Context(), event)
			return err
		},
		"WithProps": func(tr *footfall.Tracker) error {
			return tr.Track(footfall.WithProps(t.Context(), invalidProp), event.Name, footfall.P("a", 1))
		},
		"long before it": func(tr *footfall.Tracker) error {
			return tr.Track(t.Context(), event.Name, footfall.P("a", strings.Repeat("é\"", 500)), invalidProp)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, hook := range []func(footfall.Event) (footfall.Event, bool){nil, makesValid} {
				tracker := footfalltest.New(t, quiet, func(c *footfall.Config) { c.BeforeSend = hook })
				bad, ok := errors.AsType[*footfall.FieldError](track(tracker.Tracker))
				require.True(t, ok)
				assert.Equal(t, footfall.FieldError{Field: "Order.Amount", Reason: "not a number"}, *bad)
				assert.EqualValues(t, 1, tracker.Stats().Invalid)
				assert.Empty(t, tracker.Events())
			}
		})
	}
}

// makesValid is a Config.BeforeSend that makes each prop a text, which is valid.
func makesValid(e footfall.Event) (footfall.Event, bool) {
	for i, p := range e.Props {
		if text, ok := p.Value().(string); ok {
			e.Props[i] = footfall.P(p.Key(), text)
		}
	}
	return e, true
}

func TestNewAndRulesRefuseAnInvalidProp(t *testing.T) {
	t.Parallel()
	_, err := footfall.New(footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey, SiteID: "s", Props: []footfall.Prop{invalidProp}})
	assert.ErrorContains(t, err, "Order.Amount: not a number")
	tracker := footfalltest.New(t)
	err = tracker.CheckRules(http.NewServeMux(), footfall.Rule{Route: footfall.AnyRoute, Props: []footfall.Prop{invalidProp}})
	assert.ErrorContains(t, err, "Order.Amount: not a number")
}

func TestAPropThatPropsOfMakesInvalidStaysInvalid(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	handler := tracker.Middleware(footfall.Rule{Route: "GET /", Event: "seen", PropsOf: func(*http.Request) []footfall.Prop {
		return []footfall.Prop{invalidProp}
	}})(muxOf("GET /"))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	assert.EqualValues(t, 1, tracker.Stats().Invalid)
	assert.Empty(t, tracker.Events())
}

func TestCheckEventReturnsTheErrorOfTrack(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	var many []footfall.Prop
	for i := range 101 {
		many = append(many, footfall.P(strings.Repeat("k", i+1), i))
	}
	for name, e := range map[string]footfall.Event{
		"good":             {Name: "order_placed", Props: []footfall.Prop{footfall.P("a", 1)}},
		"no name":          {},
		"white name":       {Name: " "},
		"long name":        {Name: strings.Repeat("n", 121)},
		"NUL":              {Name: "a\x00"},
		"no UTF-8":         {Name: "\xff"},
		"relative URL":     {Name: "n", URL: "/a"},
		"100 props":        {Name: "n", Props: many[:100]},
		"101 props":        {Name: "n", Props: many},
		"no key":           {Name: "n", Props: []footfall.Prop{footfall.P("", 1)}},
		"long key":         {Name: "n", Props: []footfall.Prop{footfall.P(strings.Repeat("k", 301), 1)}},
		"long text":        {Name: "n", Props: []footfall.Prop{footfall.P("k", strings.Repeat("k", 2001))}},
		"NaN":              {Name: "n", Props: []footfall.Prop{footfall.P("k", math.NaN())}},
		"invalid":          {Name: "n", Props: []footfall.Prop{invalidProp}},
		"white site":       {Name: "n", SiteID: " "},
		"bad ID":           {Name: "n", ID: " a"},
		"too large":        {Name: "n", Props: longTexts(17)},
		"almost too large": {Name: "n", Props: longTexts(15)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tracker.TrackEvent(t.Context(), e), footfall.Limits{}.CheckEvent(e))
		})
	}
	wide := footfall.Limits{Name: 200, Props: 200}
	assert.NoError(t, wide.CheckEvent(footfall.Event{Name: strings.Repeat("n", 200), Props: many}))
	assert.Error(t, wide.CheckEvent(footfall.Event{Name: strings.Repeat("n", 201)}))
}

// longTexts returns n props with texts of 2,000 bytes.
func longTexts(n int) (props []footfall.Prop) {
	for i := range n {
		props = append(props, footfall.P(string(rune('a'+i)), strings.Repeat("x", 2000)))
	}
	return props
}
