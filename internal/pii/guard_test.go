package pii

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/jsontext"
)

func TestTheGuardRedactsTexts(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"":                             false,
		"pro":                          false,
		"write to joe@example.com now": true,
		"j\u00fcrgen@ex\u00e4mple.de":  true,
		"joe@localhost":                false,
		"@handle":                      false,
		"joe@@example.com":             false,
		"203.0.113.7":                  true,
		"[2001:db8::1]:443":            true,
		"fe80::1%eth0":                 true,
		"from 203.0.113.7":             false,
		"1.2.3":                        false,
		"12:30:45":                     false,
		"4111 1111 1111 1111":          true,
		"4111 1111 1111 1112":          false,
		"1763660000003":                false, // passes the Luhn check, and is a time
		"bearer mF_9.B5f-4.1JqM":       true,
		"bearer of good news":          false,
		"eyJhbGciOiJub25lIn0.e30.":     true,
		"eyJafjallaj\u00f6kull.jpg":    false,
	} {
		found := chars.Scan(s)
		assert.Equal(t, want, New(false, nil).RedactsText("k", s, found), "%q", s)
		assert.Equal(t, want, (&Guard{}).RedactsText("k", s, found), "%q", s)
		assert.Equal(t, want, New(false, []string{"other"}).RedactsText("k", s, found), "%q", s)
		assert.False(t, New(false, []string{"other", "k"}).RedactsText("k", s, found), "%q is of an exempt key", s)
		assert.False(t, New(true, nil).RedactsText("k", s, found), "the guard is off: %q", s)
		assert.False(t, New(true, nil).Suspects(s), "the guard is off: %q", s)
	}
}

func TestTheGuardRedactsCardNumbersAmongNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]bool{
		0: false, 4999: false, 4222222222222: true, 4111111111111111: true, 4111111111111112: false, 1763660000003: false,
		6304000000000000000: true, math.MaxInt64 + 1: false, math.MaxUint64: false,
	} {
		assert.Equal(t, want, New(false, nil).RedactsNumber("k", n), n)
		assert.False(t, New(false, []string{"k"}).RedactsNumber("k", n), n)
		assert.False(t, New(true, nil).RedactsNumber("k", n), n)
		if float64(n) < 1<<53 {
			assert.Equal(t, want, New(false, nil).RedactsFloat("k", float64(n)), n)
			assert.False(t, New(true, nil).RedactsFloat("k", float64(n)), n)
		}
	}
	for _, f := range []float64{411111111111111.5, -4111111111111111, 4.1e30, math.NaN(), math.Inf(1)} {
		assert.False(t, New(false, nil).RedactsFloat("k", f), f)
	}
}

func TestTheGuardLeavesOutValuesOfQueries(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		"": false, "newsletter": false, "a+b": false, "joe%40example.com": true, "joe@example.com": true, "4111+1111+1111+1111": true,
		"%zz": true, // cannot be read
	} {
		assert.Equal(t, want, New(false, nil).RedactsQuery(raw), raw)
		assert.False(t, New(true, nil).RedactsQuery(raw), raw)
	}
}

func TestPathsWhoseRouteMayMatter(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": false, "/products/42": false, "/blog/the-title-of-one-page": true, "/blog/a-title": false, "/u/joe@b": true, "/a%2Fb": true, "/o/12345678": true, "/o/1234567/1": false,
	} {
		assert.Equal(t, want, New(false, nil).NeedsRoute(path), path)
		assert.False(t, New(true, nil).NeedsRoute(path), path)
		if !want {
			out, redacted := New(false, nil).AppendPath(nil, path, Route{})
			assert.Equal(t, path, string(out))
			assert.Zero(t, redacted)
		}
	}
	out, redacted := New(true, nil).AppendPath([]byte("before"), "/u/joe@b.example", NewRoute("GET /u/{token}"))
	assert.Equal(t, "before/u/joe@b.example", string(out))
	assert.Zero(t, redacted)
}

// Suspects must not miss personal data among plain texts.
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
