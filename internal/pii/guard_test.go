package pii

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/jsontext"
)

// What the guard looks for must not pass as plain.
func TestPlainTextIsSuspectIfItIsPersonal(t *testing.T) {
	t.Parallel()
	g := New(false, nil)
	personal := 0
	check := func(s string) {
		if jsontext.IsPlain(s) && personalText(s, chars.Scan(s)) {
			personal++
			require.True(t, g.Suspects(s), "%q", s)
		}
	}
	for _, s := range []string{
		"1.2.3.4", "1.2.3.4:80", "::", "::1", "[::1]:80", "fe80::1", "FE80::A", "[2001:db8::]", "::ffff:1.2.3.4",
		"4242424242424242", "4242 4242 4242 4242", "5555-5555-5555-4444", "4242424242424242 ", "4242 4242 4242 4242-",
		"Bearer abc", "bearer abc=", "BEARER x", "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJub25lIn0.e30.sig",
	} {
		check(s)
	}
	require.Equal(t, 19, personal)
	const letters = "0123456789abfABF.:[] -exyz"
	for range 300_000 {
		s := make([]byte, 1+rand.IntN(20))
		for i := range s {
			s[i] = letters[rand.IntN(len(letters))]
		}
		check(string(s))
	}
	for range 1000 {
		number := strconv.Itoa(2+rand.IntN(4)) + strconv.FormatUint(1e15+rand.Uint64N(9e15), 10)
		check(number)
		at := rand.IntN(len(number)) + 1
		check(number[:at] + string(" -"[rand.IntN(2)]) + number[at:])
	}
	assert.Greater(t, personal, 50, "one in ten of two thousand")
}
