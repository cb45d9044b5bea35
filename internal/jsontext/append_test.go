package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStringsAreWrittenAsEncodingJSONReadsThem(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		for _, s := range []string{string(rune(b)), "a" + string(rune(b)) + "plain text after it", "text before it " + string(rune(b))} {
			assertStringAsJSON(t, s)
		}
	}
	for _, s := range []string{"", "plain", "joe@example.com", "<&>\u2028", "\U0001f600"} {
		assertStringAsJSON(t, s)
	}
}

func assertStringAsJSON(t *testing.T, s string) {
	t.Helper()
	got, ok := AppendString([]byte("before:"), s)
	require.True(t, ok, "%q", s)
	text, found := bytes.CutPrefix(got, []byte("before:"))
	require.True(t, found, "%q", got)
	var read string
	require.NoError(t, json.Unmarshal(text, &read), "%q", text)
	require.Equal(t, s, read)
}

func TestOnlyWhatJSONRequiresIsEscaped(t *testing.T) {
	t.Parallel()
	got, ok := AppendString(nil, "<b>\"\\/\n\r\t\x00\x1f\x7f\u2028ü")
	assert.True(t, ok)
	assert.Equal(t, `"<b>\"\\/\n\r\t\u0000\u001f`+"\x7f\u2028ü\"", string(got))
}

func TestInvalidUTF8IsNotWritten(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"\xff", "valid text \xff", "\"\xc3", "\xed\xa0\x80"} {
		got, ok := AppendString([]byte("before"), s)
		assert.False(t, ok, "%q", s)
		assert.Equal(t, "before", string(got), "%q", s)
	}
}

func TestNumbersThatJSONDoesNotHaveAreNotWritten(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, bits := range []int{32, 64} {
			got, ok := AppendFloat([]byte("before"), f, bits)
			assert.False(t, ok)
			assert.Equal(t, "before", string(got))
		}
		assert.False(t, IsCents(f))
	}
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x00\"\\\u2028", "\xff", "a longer text that is plain", "\U0001f600 and more"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if utf8.ValidString(s) {
			assertStringAsJSON(t, s)
			return
		}
		_, ok := AppendString(nil, s)
		assert.False(t, ok)
	})
}
