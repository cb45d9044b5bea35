package footfall

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Types of an application that P must accept.
type (
	planName string
	cents    int
	level    int8
	flags    uint16
	ratio    float32
	weight   float64
)

func TestPKeepsEveryKindOfValueExactly(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		prop  Prop
		value any
		text  string // in JSON
	}{
		"string":          {P("k", "v"), "v", `"v"`},
		"named string":    {P("k", planName("pro")), "pro", `"pro"`},
		"int":             {P("k", -7), int64(-7), "-7"},
		"int8 least":      {P("k", int8(math.MinInt8)), int64(-128), "-128"},
		"int16 least":     {P("k", int16(math.MinInt16)), int64(-32768), "-32768"},
		"int32 least":     {P("k", int32(math.MinInt32)), int64(-2147483648), "-2147483648"},
		"int64 least":     {P("k", int64(math.MinInt64)), int64(math.MinInt64), "-9223372036854775808"},
		"int64 greatest":  {P("k", int64(math.MaxInt64)), int64(math.MaxInt64), "9223372036854775807"},
		"int least":       {P("k", math.MinInt), int64(math.MinInt), strconv.Itoa(math.MinInt)},
		"named int":       {P("k", cents(4999)), int64(4999), "4999"},
		"named int8":      {P("k", level(-1)), int64(-1), "-1"},
		"duration":        {P("k", time.Second), int64(1e9), "1000000000"},
		"uint":            {P("k", uint(7)), uint64(7), "7"},
		"uint8 greatest":  {P("k", uint8(math.MaxUint8)), uint64(255), "255"},
		"uint16":          {P("k", uint16(math.MaxUint16)), uint64(65535), "65535"},
		"uint32":          {P("k", uint32(math.MaxUint32)), uint64(4294967295), "4294967295"},
		"uint64 greatest": {P("k", uint64(math.MaxUint64)), uint64(math.MaxUint64), "18446744073709551615"},
		"named uint16":    {P("k", flags(3)), uint64(3), "3"},
		"float64":         {P("k", 0.1), 0.1, "0.1"},
		"float64 tiny":    {P("k", math.SmallestNonzeroFloat64), math.SmallestNonzeroFloat64, "5e-324"},
		"float64 huge":    {P("k", math.MaxFloat64), math.MaxFloat64, "1.7976931348623157e+308"},
		"float64 whole":   {P("k", 1e20), 1e20, "100000000000000000000"},
		"negative zero":   {P("k", math.Copysign(0, -1)), math.Copysign(0, -1), "-0"},
		"named float64":   {P("k", weight(1.5)), 1.5, "1.5"},
		// Not 0.10000000149011612, its text as a float64.
		"float32":          {P("k", float32(0.1)), float32(0.1), "0.1"},
		"float32 greatest": {P("k", float32(math.MaxFloat32)), float32(math.MaxFloat32), "3.4028235e+38"},
		"named float32":    {P("k", ratio(16777216)), float32(16777216), "16777216"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, "k", row.prop.Key())
			assert.Equal(t, row.value, row.prop.Value())
			body, redacted := mustEncode(t, plainEncoder(), draftOf(row.prop))
			assert.True(t, strings.HasSuffix(body, `"props":{"k":`+row.text+`}}`), body)
			assert.Zero(t, redacted)
		})
	}
}

// Not parallel: testing.AllocsPerRun counts the allocations of the whole process.
func TestPOfStringIntAndFloatAllocatesNothing(t *testing.T) {
	text, n, f := strings.Repeat("x", 100), 123456, 1.5
	var kept [3]Prop
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		kept = [3]Prop{P("text", text), P("n", n), P("f", f)}
	}))
	assert.Equal(t, text, kept[0].Value())
}

func TestPropsFromMapIsSortedAndExact(t *testing.T) {
	t.Parallel()
	props, err := PropsFromMap(map[string]any{
		"z": "text", "named": planName("pro"), "i": -1, "u": uint64(math.MaxUint64), "f": 0.5, "f32": float32(0.1),
		"min": json.Number("-9223372036854775808"), "max": json.Number("9223372036854775807"),
		"umax": json.Number("18446744073709551615"), "above2to53": json.Number("9007199254740993"),
		"exp": json.Number("1e3"), "frac": json.Number("0.30"), "": "checked by the encoder",
	})
	require.NoError(t, err)
	want := []Prop{
		P("", "checked by the encoder"), P("above2to53", int64(9007199254740993)), P("exp", 1000.0), P("f", 0.5),
		P("f32", float32(0.1)), P("frac", 0.3), P("i", -1), P("max", int64(math.MaxInt64)), P("min", int64(math.MinInt64)),
		P("named", "pro"), P("u", uint64(math.MaxUint64)), P("umax", uint64(math.MaxUint64)), P("z", "text"),
	}
	assert.Equal(t, want, props)
}

func TestPropsFromMapOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]map[string]any{"nil": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			props, err := PropsFromMap(m)
			require.NoError(t, err)
			assert.Empty(t, props)
		})
	}
}

func TestPropsFromMapReportsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	type card struct{ Number string }
	refused := map[string]any{
		"nil": nil, "bool": true, "struct": card{secretText}, "pointer": &card{secretText}, "slice": []string{secretText},
		"bytes": []byte(secretText), "map": map[string]any{"x": secretText}, "complex": 1i, "uintptr": uintptr(1),
		"time": time.Now(), "func": func() {}, "chan": make(chan int), "error": errors.New(secretText),
		"number text": json.Number(secretText), "number empty": json.Number(""), "number huge": json.Number("1e400"),
	}
	m := map[string]any{"fine": 1, "also": "fine"}
	maps.Copy(m, refused)
	props, err := PropsFromMap(m)
	require.Error(t, err)
	assert.Nil(t, props, "half of the props must not be mistaken for all")
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	fields := make(map[string]bool)
	for _, problem := range joined.Unwrap() {
		field, ok := errors.AsType[*FieldError](problem)
		require.True(t, ok, "%T", problem)
		fields[field.Field] = true
	}
	for key := range refused {
		assert.True(t, fields[`props["`+key+`"]`], "%q is not reported", key)
	}
	assert.Len(t, fields, len(refused))
	assert.NotContains(t, err.Error(), secretText)
}

func TestPropsFromMapNamesTheTypeItRefuses(t *testing.T) {
	t.Parallel()
	_, err := PropsFromMap(map[string]any{"paid": true})
	assert.EqualError(t, err, `footfall: props["paid"]: a bool is neither a string nor a number`)
}

func TestFieldErrorBoundsTheKeyItNames(t *testing.T) {
	t.Parallel()
	_, err := PropsFromMap(map[string]any{strings.Repeat("\x00é", 1<<20): nil})
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 512)
}

func TestAnEventIDIsTheTextOfItsUUIDInErrorsLogsAndJSON(t *testing.T) {
	t.Parallel()
	const text = "01939f6e-2a7c-7d3f-8a4b-5c6d7e8f9a0b"
	id := EventID(uuid.MustParse(text))
	rejected := &RejectedError{ID: id.String(), Err: ErrNotFound}
	assert.Contains(t, rejected.Error(), "event "+text+" rejected")
	var lines, jsonLines bytes.Buffer
	slog.New(slog.NewTextHandler(&lines, nil)).Info("rejected", "id", id)
	slog.New(slog.NewJSONHandler(&jsonLines, nil)).Info("rejected", "id", id)
	assert.Contains(t, lines.String(), "id="+text+"\n")
	assert.Contains(t, jsonLines.String(), `"id":"`+text+`"`)
}

func TestLimitsDefaultsAreAsDocumented(t *testing.T) {
	t.Parallel()
	client, err := NewClient(ClientConfig{BaseURL: "https://api.example.com", APIKey: secretKey})
	require.NoError(t, err)
	for _, limits := range []Limits{Config{}.withDefaults().Limits, client.encoder.limits} {
		value := reflect.ValueOf(limits)
		for _, field := range documentedFields(t, "event.go", "Limits") {
			number := value.FieldByName(field.name)
			assert.Equal(t, meaning(field.says, number.Type()), number.Interface(), field.name)
		}
	}
}
