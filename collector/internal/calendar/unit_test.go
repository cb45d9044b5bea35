package calendar

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// Columns of every unit count each day once, and the links of a chart's columns lead to its days.
func TestColumnsOfAnyUnitCountEachDayOnce(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 1 + rng.IntN(800)
		of := lastDays(n)(time.Date(2000+rng.IntN(40), time.Month(1+rng.IntN(12)), 1+rng.IntN(28), 0, 0, 0, 0, time.UTC))
		var points []store.Point
		for day := of.From; day.Before(of.To); day = day.AddDate(0, 0, 1) {
			points = append(points, store.Point{At: day, Totals: store.Totals{Visitors: rng.Int64N(9), Pageviews: rng.Int64N(9), Events: rng.Int64N(9)}})
		}
		for _, u := range UnitsOf(n) {
			if u == Hours {
				continue
			}
			columns := u.ColumnsOf(points)
			require.Equal(t, total(points), total(columns))
			from := of.From
			for i, c := range columns {
				days, whole := u.SpanOf(c.At, of)
				require.True(t, whole)
				require.Equal(t, from, days.From, "%s: no gap before column %d", u, i)
				require.True(t, i == 0 || u != Weeks || days.From.Weekday() == time.Monday)
				require.True(t, i == 0 || u != Months || days.From.Day() == 1)
				from = days.To
			}
			require.Equal(t, of.To, from)
		}
	}
}

func total(points []store.Point) (sum store.Totals) {
	for _, p := range points {
		sum = sum.Plus(p.Totals)
	}
	return sum
}
