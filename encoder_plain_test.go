package footfall

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/pii"
)

func TestPlainPropsAreWrittenLikeOtherProps(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 32<<10, Limits{}.withDefaults(), pii.New(false, nil))
	fast, general := make([]byte, 0, 1024), []byte(nil)
	written := 0
	for _, p := range plainCandidates() {
		out, ok := e.appendPlainProp(fast, &p)
		if !ok {
			continue
		}
		written++
		general, personal, err := e.appendProp(general[:0], &p)
		require.NoError(t, err)
		require.False(t, personal, "%v", p.Value())
		require.Equal(t, string(general)+",", string(out))
	}
	assert.Greater(t, written, 100_000)
}

func plainCandidates() (props []Prop) {
	for _, n := range []int64{0, 1, 9, 10, 99, 100, 999_999_999_999, 1e12, -1, math.MinInt64, math.MaxInt64} {
		props = append(props, P("n", n), P("n", int(n)), P("n", uint64(n)), P("n", float64(n)), P("n", float64(n)/100), P("n", float32(n)))
	}
	for _, f := range []float64{0.1, 0.01, 0.29, 1.1, 1.15, 0.001, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 9_999_999_999.99} {
		props = append(props, P("f", f), P("f", math.Nextafter(f, 1)), P("f", -f))
	}
	for range 100_000 {
		digits := math.Pow10(rand.IntN(14))
		cents := math.Round(rand.Float64()*digits) / 100
		props = append(props, P("n", int64(rand.Float64()*digits)), P("f", cents), P("f", math.Nextafter(cents, 0)), P("f", rand.Float64()))
	}
	return append(props, P("", "a"), P(`"`, "a"), P("a", "@"), P("a", "ü"), P("a", ""), P("ä", 1))
}

func TestPlainPropsDoNotGrowTheBuffer(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 32<<10, Limits{}.withDefaults(), pii.New(false, nil))
	for _, p := range []Prop{P("k", "value"), P("k", int64(999_999_999_999)), P("k", 9_999_999_999.99)} {
		for room := range 40 {
			out, ok := e.appendPlainProp(make([]byte, 0, room), &p)
			assert.LessOrEqual(t, len(out), room)
			assert.Equal(t, ok, len(out) > 0)
		}
	}
}

func TestErrorNamesAPlainValueThatIsTooLong(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 100, Limits{}.withDefaults(), pii.New(false, nil))
	_, _, err := e.appendProps(make([]byte, 0, 1024), []Prop{P("ok", 1), P("long", strings.Repeat("x", 101))})
	assert.ErrorContains(t, err, `props["long"]`)
}

func TestTheLastOfManyPropsWithOneKeyWins(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 32<<10, noLimits, pii.New(false, nil))
	var props []Prop
	for i := range 300 {
		props = append(props, P("key"+strconv.Itoa(i%200), i))
	}
	got, _, err := e.appendProps(nil, props)
	require.NoError(t, err)
	var want []string
	for i := 100; i < 300; i++ {
		want = append(want, `"key`+strconv.Itoa(i%200)+`":`+strconv.Itoa(i))
	}
	assert.Equal(t, `,"props":{`+strings.Join(want, ",")+"}", string(got))
}
