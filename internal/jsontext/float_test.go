package jsontext

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// assertFloatAsJSON fails unless f is written as encoding/json writes it, in the short way
// too if f is an amount of money.
func assertFloatAsJSON[F float32 | float64](t *testing.T, f F) {
	t.Helper()
	want, err := json.Marshal(f)
	require.NoError(t, err)
	bits := 64
	if _, is32 := any(f).(float32); is32 {
		bits = 32
	}
	got, ok := AppendFloat(nil, float64(f), bits)
	if !ok || string(got) != string(want) {
		t.Fatalf("a %T is written %s, encoding/json writes %s", f, got, want)
	}
	if bits == 64 && IsCents(float64(f)) {
		short := make([]byte, 20)
		if short = short[:PutCents(short, uint64(f*100))]; string(short) != string(want) {
			t.Fatalf("hundredths are written %s, encoding/json writes %s", short, want)
		}
	}
}

// turningPoints are where the notation changes, and the ends of the ranges.
var turningPoints = []float64{
	0, 1e-10, 1e-9, 1e-7, 1e-6, 1, 1e20, 1e21, 1e22, 1e99, 1e100, 1e-99, 1e-100,
	math.SmallestNonzeroFloat32, math.MaxFloat32, 0x1p-126, math.SmallestNonzeroFloat64, math.MaxFloat64, 0x1p-1022,
}

func TestFloat32IsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	t.Parallel()
	check := func(f float32) {
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
			return
		}
		assertFloatAsJSON(t, f)
		assertFloatAsJSON(t, -f)
	}
	for _, point := range turningPoints {
		f := float32(point)
		check(f)
		check(math.Nextafter32(f, 0))
		check(math.Nextafter32(f, float32(math.Inf(1))))
	}
	for range 20_000 {
		check(math.Float32frombits(rand.Uint32()))
		check(float32(rand.Int64N(2e9)) / 100)
		check(float32(1e-6 * (0.999999 + rand.Float64()*2e-6)))
		check(float32(1e21 * (0.999999 + rand.Float64()*2e-6)))
	}
}

func TestFloat64IsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	t.Parallel()
	check := func(f float64) {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		assertFloatAsJSON(t, f)
		assertFloatAsJSON(t, -f)
	}
	for _, f := range turningPoints {
		check(f)
		check(math.Nextafter(f, 0))
		check(math.Nextafter(f, math.Inf(1)))
	}
	for range 20_000 {
		check(math.Float64frombits(rand.Uint64()))
		check(float64(rand.Int64N(2e15)) / 100)
		check(1e-6 * (0.999999 + rand.Float64()*2e-6))
		check(1e21 * (0.999999 + rand.Float64()*2e-6))
	}
}
