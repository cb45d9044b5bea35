package retry

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certain has no jitter, so that delay is the full delay.
func certain(Base, limit time.Duration) Backoff { return Backoff{Base: Base, Max: limit, Low: 1} }

func TestBackoffDoublesUntilItsMaximum(t *testing.T) {
	t.Parallel()
	b := certain(500*time.Millisecond, 60*time.Second)
	var got []time.Duration
	for step := range 9 {
		got = append(got, b.Delay(step))
	}
	const ms, s = time.Millisecond, time.Second
	assert.Equal(t, []time.Duration{500 * ms, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, got)
}

func TestBackoffNeverOverflows(t *testing.T) {
	t.Parallel()
	rows := map[string]Backoff{
		"defaults":                      certain(500*time.Millisecond, 60*time.Second),
		"probe defaults":                certain(30*time.Second, 5*time.Minute),
		"tiny":                          certain(1, time.Hour),
		"minimum is the maximum":        certain(time.Minute, time.Minute),
		"an hour up to a day":           certain(time.Hour, 24*time.Hour),
		"up to a century":               certain(time.Second, 100*365*24*time.Hour),
		"bits that survive an overflow": certain(1<<40+1<<10, 24*time.Hour),
	}
	for name, b := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step := range 1001 {
				want := math.Min(math.Ldexp(float64(b.Base), step), float64(b.Max))
				require.InEpsilon(t, want, float64(b.Delay(step)), 1e-9, "step %d", step)
			}
			assert.Equal(t, b.Delay(1000), b.Delay(math.MaxInt), "it stays at the maximum")
		})
	}
}

func TestBackoffHasFullJitter(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		b           Backoff
		step        int
		least, most time.Duration
	}{
		"first step":        {Backoff{Base: time.Second, Max: time.Minute}, 0, 0, time.Second},
		"third step":        {Backoff{Base: time.Second, Max: time.Minute}, 2, 0, 4 * time.Second},
		"at the maximum":    {Backoff{Base: time.Second, Max: time.Minute}, 1000, 0, time.Minute},
		"half for a probe":  {Backoff{Base: 30 * time.Second, Max: 5 * time.Minute, Low: 0.5}, 0, 15 * time.Second, 30 * time.Second},
		"half at a maximum": {Backoff{Base: 30 * time.Second, Max: 5 * time.Minute, Low: 0.5}, 1000, 150 * time.Second, 5 * time.Minute},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const draws, parts = 10_000, 10
			var hits [parts]int
			span := row.most - row.least
			for range draws {
				d := row.b.Delay(row.step)
				require.GreaterOrEqual(t, d, row.least)
				require.LessOrEqual(t, d, row.most)
				hits[min(parts-1, int(parts*(d-row.least)/span))]++
			}
			for i, n := range hits {
				// 1000 expected, 30 is one standard deviation: this fails by chance once in 10^20.
				assert.InDelta(t, draws/parts, n, 300, "part %d of the range is drawn too rarely or too often", i)
			}
		})
	}
}

func TestRetryAfterIsReadAndClamped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const limit = 5 * time.Minute
	rows := map[string]struct {
		header string
		want   time.Duration
	}{
		"absent":                 {"", 0},
		"zero":                   {"0", 0},
		"seconds":                {"7", 7 * time.Second},
		"leading zeros":          {"007", 7 * time.Second},
		"exactly the limit":      {"300", limit},
		"more than the limit":    {"301", limit},
		"31 bits":                {"2147483647", limit},
		"32 bits":                {"4294967296", limit},
		"64 bits":                {"18446744073709551616", limit},
		"a thousand digits":      {strings.Repeat("9", 1000), limit},
		"negative":               {"-5", 0},
		"signed":                 {"+5", 0},
		"fraction":               {"1.5", 0},
		"exponent":               {"1e3", 0},
		"hexadecimal":            {"0x10", 0},
		"unit":                   {"5s", 0},
		"word":                   {"soon", 0},
		"blank":                  {" ", 0},
		"date":                   {"Fri, 20 Nov 2026 12:00:30 GMT", 30 * time.Second},
		"date of RFC 850":        {"Friday, 20-Nov-26 12:00:30 GMT", 30 * time.Second},
		"date of ANSI C":         {"Fri Nov 20 12:00:30 2026", 30 * time.Second},
		"date far ahead":         {"Fri, 20 Nov 2099 12:00:00 GMT", limit},
		"date beyond a Duration": {"Fri, 31 Dec 9999 23:59:59 GMT", limit},
		"date of now":            {"Fri, 20 Nov 2026 12:00:00 GMT", 0},
		"date past":              {"Fri, 20 Nov 2026 11:59:59 GMT", 0},
		"date long past":         {"Mon, 01 Jan 0001 00:00:00 GMT", 0},
		"date of ISO 8601":       {"2026-11-20T12:00:30Z", 0},
		"date that is none":      {"Fri, 99 Nov 2026 12:00:00 GMT", 0},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, After(row.header, "", now, limit))
			assert.Equal(t, row.want, After(row.header, now.Format(http.TimeFormat), now.Add(-time.Hour), limit), "by the clock of the server")
		})
	}
}

func TestARetryAfterDateCountsFromTheAnswersDate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, row := range map[string]struct {
		header, sent string
		want         time.Duration
	}{
		"a server an hour ahead":       {at(time.Hour + 10*time.Second), at(time.Hour), 10 * time.Second},
		"a server an hour behind":      {at(10*time.Second - time.Hour), at(-time.Hour), 10 * time.Second},
		"no Date":                      {at(10 * time.Second), "", 10 * time.Second},
		"a Date that is none":          {at(10 * time.Second), "yesterday", 10 * time.Second},
		"seconds do not need a Date":   {"10", at(time.Hour), 10 * time.Second},
		"before the Date":              {at(time.Hour - time.Second), at(time.Hour), 0},
		"a Date of the first year":     {at(0), "Mon, 01 Jan 0001 00:00:00 GMT", 5 * time.Minute},
		"a Date beyond a Duration":     {at(0), "Fri, 31 Dec 9999 23:59:59 GMT", 0},
		"a Date as RFC 850 writes one": {at(time.Hour + 10*time.Second), "Friday, 20-Nov-26 13:00:00 GMT", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, After(row.header, row.sent, now, 5*time.Minute))
		})
	}
}
