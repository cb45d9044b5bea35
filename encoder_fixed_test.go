package footfall

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/pii"
)

// randomProps returns up to n props with few keys, some of which repeat, and some of whose values the guard redacts.
func randomProps(r *rand.Rand, n int) (props []Prop) {
	for range r.IntN(n) {
		key := fmt.Sprint("k", r.IntN(6))
		switch r.IntN(4) {
		case 0:
			props = append(props, P(key, r.IntN(1000)))
		case 1:
			props = append(props, P(key, float64(r.IntN(1000))/8))
		case 2:
			props = append(props, P(key, strings.Repeat("é\"", r.IntN(4))))
		default:
			props = append(props, P(key, "ada@example.com"))
		}
	}
	return props
}

// The props of Config.Props, of the context and of an event are encoded as if the event had them all.
func TestPropsOfConfigAndContextAreEncodedAsThoseOfTheEvent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		fixed, more, own := randomProps(r, 5), lastOfEach(randomProps(r, 5)), randomProps(r, 8)
		limits := Limits{Props: 1 + r.IntN(8)}.withDefaults()
		plain := newEncoder("s", "https://example.com/", 1<<10, limits, pii.New(false, nil))
		e := plain.with("", fixed)
		all := append(append(append([]Prop(nil), fixed...), more...), own...)
		got, n, err := e.append(nil, &draft{name: "n", props: own, more: more})
		want, all_, wantErr := plain.append(nil, &draft{name: "n", props: all})
		require.Equal(t, wantErr, err, "seed %d", seed)
		if err != nil {
			continue
		}
		require.JSONEq(t, string(want), string(got), "seed %d", seed)
		assert.LessOrEqual(t, n, all_, "seed %d: those of Config.Props do not count", seed)
		require.True(t, json.Valid(got), "seed %d", seed)
	}
}

func TestConfigPropsAreCheckedByNew(t *testing.T) {
	t.Parallel()
	for reason, p := range map[string]Prop{
		`Config.Props: props: a key is empty`:                          P("", 1),
		`Config.Props: "mail" looks like personal data`:                P("mail", "ada@example.com"),
		`Config.Props: props["long"]: longer than 2000 bytes`:          P("long", strings.Repeat("x", 2001)),
		`Config.Props: props["nan"]: NaN and infinities`:               P("nan", nan()),
		`Config.Props: props["text"]: value is not valid UTF-8`:        P("text", "\xff"),
		`Config.Props: props["nul"]: value is not text: it contains a`: P("nul", "\x00"),
	} {
		_, err := New(Config{BaseURL: "http://127.0.0.1:1", APIKey: "k", SiteID: "s", DefaultURL: "https://example.com/", Props: []Prop{P("ok", 1), p}})
		require.ErrorContains(t, err, reason)
	}
}

func TestConfigLandingPropIsCheckedByNew(t *testing.T) {
	t.Parallel()
	_, err := New(Config{BaseURL: "http://127.0.0.1:1", APIKey: "k", SiteID: "s", LandingProp: strings.Repeat("x", 301)})
	require.ErrorContains(t, err, "Config.LandingProp: props[")
}

func nan() float64 { zero := 0.0; return zero / zero }
