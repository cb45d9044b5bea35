package event_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/event"
	"github.com/footfall-dev/footfall/footfalltest"
)

type (
	planName string
	cents    int64
	level    int8
	weight   float64
)

// String is not called.
func (planName) String() string { return "a plan" }

// shared has props that several events share.
type shared struct {
	Tenant string `prop:"tenant"`
	Seats  uint32 `prop:"seats,omitempty"`
}

// everything has a field of each kind that is a prop.
type everything struct {
	Text     string        `prop:"text"`
	Named    planName      `prop:"named"`
	Int      int           `prop:"int"`
	Int8     level         `prop:"int8"`
	Int16    int16         `prop:"int16"`
	Int32    int32         `prop:"int32"`
	Int64    int64         `prop:"int64"`
	Cents    cents         `prop:"cents"`
	Duration time.Duration `prop:"duration"`
	Uint     uint          `prop:"uint"`
	Uint8    uint8         `prop:"uint8"`
	Uint16   uint16        `prop:"uint16"`
	Uint32   uint32        `prop:"uint32"`
	Uint64   uint64        `prop:"uint64"`
	Float32  float32       `prop:"float32"`
	Float64  float64       `prop:"float64"`
	Weight   weight        `prop:"weight"`
	shared

	MaybeText  string    `prop:"maybe_text,omitempty"`
	MaybeInt   int       `prop:"maybe_int,omitempty"`
	MaybeInt64 cents     `prop:"maybe_int64,omitempty"`
	MaybeFloat float64   `prop:"maybe_float,omitempty"`
	MaybeSmall float32   `prop:"maybe_small,omitempty"`
	TextAt     *planName `prop:"text_at"`
	IntAt      *int      `prop:"int_at,omitempty"`
	UintAt     *uint64   `prop:"uint_at"`
	FloatAt    *float64  `prop:"float_at"`

	Secret string `prop:"-"`
	note   string
}

var everythingHappened = event.Define[everything]("everything_happened")

func quiet(c *footfall.Config) { c.Logger = slog.New(slog.DiscardHandler) }

// pick returns one of some values. Few of them make zeros, limits and repetitions likely.
func pick[V any](r *rand.Rand, values ...V) V { return values[r.IntN(len(values))] }

func at[V any](r *rand.Rand, v V) *V {
	if r.IntN(2) == 0 {
		return nil
	}
	return &v
}

func randomFloat(r *rand.Rand) float64 {
	return pick(r, 0, math.Copysign(0, -1), 0.19, 1e300, -4.5, float64(r.IntN(10000))/100, r.NormFloat64(), math.SmallestNonzeroFloat64)
}

func randomText(r *rand.Rand) string {
	return pick(r, "", "pro", `"quoted"`, "größe", "a\nb", "ada@example.com", strings.Repeat("x", r.IntN(300)), strconv.Itoa(r.Int()))
}

func randomValue(r *rand.Rand) everything {
	n := pick(r, 0, 1, -1, math.MaxInt64, math.MinInt64, r.Int64(), -r.Int64N(5000))
	u := uint64(n)
	text := randomText(r)
	return everything{
		Text: randomText(r), Named: planName(text), Int: int(n), Int8: level(n), Int16: int16(n), Int32: int32(n), Int64: n, Cents: cents(n),
		Duration: time.Duration(n), Uint: uint(u), Uint8: uint8(u), Uint16: uint16(u), Uint32: uint32(u), Uint64: u,
		Float32: float32(pick(r, 0, 0.1, r.NormFloat64())), Float64: randomFloat(r), Weight: weight(randomFloat(r)),
		shared:    shared{Tenant: randomText(r), Seats: uint32(r.IntN(3))},
		MaybeText: randomText(r), MaybeInt: r.IntN(2), MaybeInt64: cents(r.IntN(2)), MaybeFloat: randomFloat(r),
		MaybeSmall: float32(pick(r, 0, math.Copysign(0, -1), 0.1)),
		TextAt:     at(r, planName(text)), IntAt: at(r, r.IntN(2)), UintAt: at(r, u), FloatAt: at(r, randomFloat(r)),
		Secret: "secret", note: "note",
	}
}

// byHand returns the props of v as an application without a definition writes them.
func byHand(v everything) []footfall.Prop {
	props := []footfall.Prop{
		footfall.P("text", v.Text), footfall.P("named", v.Named), footfall.P("int", v.Int), footfall.P("int8", v.Int8),
		footfall.P("int16", v.Int16), footfall.P("int32", v.Int32), footfall.P("int64", v.Int64), footfall.P("cents", v.Cents),
		footfall.P("duration", v.Duration), footfall.P("uint", v.Uint), footfall.P("uint8", v.Uint8), footfall.P("uint16", v.Uint16),
		footfall.P("uint32", v.Uint32), footfall.P("uint64", v.Uint64), footfall.P("float32", v.Float32),
		footfall.P("float64", v.Float64), footfall.P("weight", v.Weight), footfall.P("tenant", v.Tenant),
	}
	add := func(ok bool, p func() footfall.Prop) {
		if ok {
			props = append(props, p())
		}
	}
	add(v.Seats != 0, func() footfall.Prop { return footfall.P("seats", v.Seats) })
	add(v.MaybeText != "", func() footfall.Prop { return footfall.P("maybe_text", v.MaybeText) })
	add(v.MaybeInt != 0, func() footfall.Prop { return footfall.P("maybe_int", v.MaybeInt) })
	add(v.MaybeInt64 != 0, func() footfall.Prop { return footfall.P("maybe_int64", v.MaybeInt64) })
	add(v.MaybeFloat != 0, func() footfall.Prop { return footfall.P("maybe_float", v.MaybeFloat) })
	add(v.MaybeSmall != 0, func() footfall.Prop { return footfall.P("maybe_small", v.MaybeSmall) })
	add(v.TextAt != nil, func() footfall.Prop { return footfall.P("text_at", *v.TextAt) })
	add(v.IntAt != nil, func() footfall.Prop { return footfall.P("int_at", *v.IntAt) })
	add(v.UintAt != nil, func() footfall.Prop { return footfall.P("uint_at", *v.UintAt) })
	add(v.FloatAt != nil, func() footfall.Prop { return footfall.P("float_at", *v.FloatAt) })
	return props
}

// bodies is a Transport that keeps the bodies of requests.
type bodies struct{ all []string }

func (b *bodies) Deliver(ctx context.Context, src *footfall.Source) {
	batch := make([]footfall.Record, 100)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(batch); n > 0; n = src.Take(batch) {
			for _, record := range batch[:n] {
				b.all = append(b.all, string(record.Body))
			}
			src.Settle(batch[:n], footfall.OutcomeDelivered, nil)
		}
	}
}

// Each way to track a value sends the bytes of Track with P.
func TestADefinitionSendsWhatTrackWithPSends(t *testing.T) {
	t.Parallel()
	require.NoError(t, everythingHappened.Err())
	sent := &bodies{}
	tracker := footfalltest.New(t, quiet, func(c *footfall.Config) { c.Transport = sent })
	ctx := footfall.WithTracker(t.Context(), tracker.Tracker)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		v := randomValue(r)
		require.NoError(t, tracker.Track(ctx, "everything_happened", byHand(v)...))
		require.NoError(t, everythingHappened.Track(ctx, v))
		require.NoError(t, everythingHappened.TrackWith(t.Context(), tracker.Tracker, v))
		require.NoError(t, tracker.Track(ctx, everythingHappened.Name(), everythingHappened.Props(v)...))
		require.NoError(t, tracker.TrackEvent(ctx, everythingHappened.Event(v)))
		assert.Equal(t, byHand(v), everythingHappened.Props(v), "in memory, too, as Config.BeforeSend sees them")
	}
	require.NoError(t, tracker.Close(t.Context()))
	require.Len(t, sent.all, 5*1000)
	for i := 0; i < len(sent.all); i += 5 {
		for _, body := range sent.all[i+1 : i+5] {
			require.Equal(t, sent.all[i], body)
		}
	}
}

type counted struct {
	N    int    `prop:"n"`
	Text string `prop:"text"`
	More *int   `prop:"more"`
}

var somethingCounted = event.Define[counted]("something_counted")

func TestManyGoroutinesTrackWithoutMixingTheirValues(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 500
	tracker := footfalltest.New(t)
	ctx := footfall.WithTracker(t.Context(), tracker.Tracker)
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := range each {
				v := counted{N: g*each + i, Text: strconv.Itoa(g*each + i)}
				if i%2 == 0 {
					v.More = &v.N
				}
				assert.NoError(t, somethingCounted.Track(ctx, v))
			}
		})
	}
	running.Wait()
	seen := make(map[int]bool)
	for _, e := range tracker.Events() {
		n := int(e.Props["n"].(float64))
		seen[n] = true
		want := map[string]any{"n": float64(n), "text": strconv.Itoa(n)}
		if n%2 == 0 {
			want["more"] = float64(n)
		}
		assert.Equal(t, want, e.Props)
	}
	assert.Len(t, seen, goroutines*each)
}

func TestTrackReturnsTheErrorsOfTheTracker(t *testing.T) {
	t.Parallel()
	v := counted{Text: "a\x00"}
	assert.ErrorIs(t, somethingCounted.Track(t.Context(), v), footfall.ErrNoTracker)
	assert.NoError(t, somethingCounted.TrackWith(t.Context(), nil, v), "as a nil tracker does")
	tracker := footfalltest.New(t, quiet)
	err := somethingCounted.TrackWith(t.Context(), tracker.Tracker, v)
	assert.ErrorContains(t, err, `props["text"]: value is not text`)
	require.NoError(t, tracker.Close(t.Context()))
	v.Text = ""
	assert.ErrorIs(t, somethingCounted.TrackWith(t.Context(), tracker.Tracker, v), footfall.ErrClosed)
}

// A tracker checks what a definition sends with its own limits.
func TestATrackerWithSmallerLimitsRefusesTheEvent(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet, func(c *footfall.Config) { c.Limits.Props = 1 })
	assert.ErrorContains(t, somethingCounted.TrackWith(t.Context(), tracker.Tracker, counted{}), "2 entries are more than 1")
	assert.EqualValues(t, 1, tracker.Stats().Invalid)
}

func TestPropsBelongToTheCaller(t *testing.T) {
	t.Parallel()
	first := somethingCounted.Props(counted{N: 1, Text: "first"})
	kept := fmt.Sprint(first)
	for n := range 100 {
		somethingCounted.Props(counted{N: n, Text: "later"})
	}
	assert.Equal(t, kept, fmt.Sprint(first))
}
