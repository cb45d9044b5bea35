package calendar

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func dayOf(t *testing.T, text string) time.Time {
	t.Helper()
	day, err := time.Parse(time.DateOnly, text)
	require.NoError(t, err)
	return day
}

func spanOfDays(t *testing.T, first, last string) Span {
	t.Helper()
	return Span{dayOf(t, first), dayOf(t, last).AddDate(0, 0, 1)}
}

func TestRangesWithANameAreThoseOfTheCalendar(t *testing.T) {
	t.Parallel()
	for today, want := range map[string]map[string]string{
		"2024-03-01": { // a Friday after a leap day
			"today": "2024-03-01 2024-03-01", "yesterday": "2024-02-29 2024-02-29", "week": "2024-02-26 2024-03-03", "lastweek": "2024-02-19 2024-02-25",
			"7d": "2024-02-24 2024-03-01", "28d": "2024-02-03 2024-03-01", "30d": "2024-02-01 2024-03-01", "90d": "2023-12-03 2024-03-01",
			"month": "2024-03-01 2024-03-31", "lastmonth": "2024-02-01 2024-02-29", "year": "2024-01-01 2024-12-31", "lastyear": "2023-01-01 2023-12-31",
			"12m": "2023-03-02 2024-03-01",
		},
		"2023-01-01": { // a Sunday
			"week": "2022-12-26 2023-01-01", "lastweek": "2022-12-19 2022-12-25", "month": "2023-01-01 2023-01-31",
			"lastmonth": "2022-12-01 2022-12-31", "lastyear": "2022-01-01 2022-12-31",
		},
		"2026-05-31": {"lastmonth": "2026-04-01 2026-04-30", "week": "2026-05-25 2026-05-31", "12m": "2025-06-01 2026-05-31"},
	} {
		for _, r := range Ranges {
			if want[r.Name] != "" {
				assert.Equal(t, want[r.Name], r.Of(dayOf(t, today)).String(), "%s on %s", r.Name, today)
			}
		}
	}
}

// Arrows lead from one span to the next one without a gap, and back to the same one.
func TestNeighboursOfASpanTouchItAndLeadBack(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		today := time.Date(1990+rng.IntN(60), time.Month(1+rng.IntN(12)), 1+rng.IntN(31), 0, 0, 0, 0, time.UTC)
		all := []Span{lastDays(1 + rng.IntN(500))(today)}
		for _, r := range Ranges {
			s := r.Of(today)
			assert.False(t, today.AddDate(0, 0, 1).Before(s.From) || s.Len() < 1, "%s on %s", r.Name, today)
			all = append(all, s)
		}
		for _, s := range all {
			before, after := s.Neighbour(-1), s.Neighbour(1)
			require.Equal(t, s.From, before.To, s)
			require.Equal(t, s.To, after.From, s)
			if s.Len() < 28 || s == month(s.From) || s == year(s.From) { // others may become a month on the way
				require.Equal(t, s, before.Neighbour(1), s)
				require.Equal(t, s, after.Neighbour(-1), s)
			}
		}
	}
	for text, of := range map[string]Span{
		"2024-02-01 2024-02-29": spanOfDays(t, "2024-03-01", "2024-03-31"),
		"2023-01-01 2023-12-31": spanOfDays(t, "2024-01-01", "2024-12-31"),
		"2024-02-23 2024-02-29": spanOfDays(t, "2024-03-01", "2024-03-07"),
	} {
		assert.Equal(t, text, of.Neighbour(-1).String())
	}
}

func TestDaysAYearBeforeAreThoseOfTheCalendar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, last, want string }{
		{"2026-11-27", "2026-11-27", "2025-11-27 2025-11-27"},
		{"2024-02-29", "2024-02-29", "2023-02-28 2023-02-28"},
		{"2024-02-28", "2024-02-29", "2023-02-28 2023-02-28"},
		{"2024-02-01", "2024-02-29", "2023-02-01 2023-02-28"},
		{"2025-02-01", "2025-02-28", "2024-02-01 2024-02-29"},
		{"2025-02-28", "2025-03-01", "2024-02-28 2024-03-01"},
		{"2024-03-01", "2025-02-28", "2023-03-01 2024-02-29"},
		{"2024-01-01", "2024-12-31", "2023-01-01 2023-12-31"},
	} {
		assert.Equal(t, c.want, spanOfDays(t, c.first, c.last).YearBefore().String(), "%s %s", c.first, c.last)
	}
	for day := dayOf(t, "1999-01-01"); day.Year() < 2030; day = day.AddDate(0, 0, 1) {
		one := Span{day, day.AddDate(0, 0, 1)}.YearBefore()
		require.Positive(t, one.Len(), day)
		require.LessOrEqual(t, one.Len(), 2, "%s: two days are the 28th and 29th of February", day)
	}
}
