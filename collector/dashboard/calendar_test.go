package dashboard

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

func spanOfDays(t *testing.T, first, last string) span {
	t.Helper()
	return span{dayOf(t, first), dayOf(t, last).AddDate(0, 0, 1)}
}

func (s span) String() string {
	return s.From.Format(time.DateOnly) + " " + s.lastDay().Format(time.DateOnly)
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
		for _, r := range ranges {
			if want[r.Name] != "" {
				assert.Equal(t, want[r.Name], r.of(dayOf(t, today)).String(), "%s on %s", r.Name, today)
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
		all := []span{lastDays(1 + rng.IntN(500))(today)}
		for _, r := range ranges {
			s := r.of(today)
			assert.False(t, today.AddDate(0, 0, 1).Before(s.From) || s.days() < 1, "%s on %s", r.Name, today)
			all = append(all, s)
		}
		for _, s := range all {
			before, after := s.neighbour(-1), s.neighbour(1)
			require.Equal(t, s.From, before.To, s)
			require.Equal(t, s.To, after.From, s)
			if s.days() < 28 || s == month(s.From) || s == year(s.From) { // others may become a month on the way
				require.Equal(t, s, before.neighbour(1), s)
				require.Equal(t, s, after.neighbour(-1), s)
			}
		}
	}
	for text, of := range map[string]span{
		"2024-02-01 2024-02-29": spanOfDays(t, "2024-03-01", "2024-03-31"),
		"2023-01-01 2023-12-31": spanOfDays(t, "2024-01-01", "2024-12-31"),
		"2024-02-23 2024-02-29": spanOfDays(t, "2024-03-01", "2024-03-07"),
	} {
		assert.Equal(t, text, of.neighbour(-1).String())
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
		assert.Equal(t, c.want, spanOfDays(t, c.first, c.last).yearBefore().String(), "%s %s", c.first, c.last)
	}
	for day := dayOf(t, "1999-01-01"); day.Year() < 2030; day = day.AddDate(0, 0, 1) {
		one := span{day, day.AddDate(0, 0, 1)}.yearBefore()
		require.Positive(t, one.days(), day)
		require.LessOrEqual(t, one.days(), 2, "%s: two days are the 28th and 29th of February", day)
	}
}

func TestComparisonFindsTheDaysToCompareWith(t *testing.T) {
	t.Parallel()
	week := spanOfDays(t, "2026-11-16", "2026-11-22") // from Monday
	for _, c := range []struct {
		comparison
		of   span
		want string
	}{
		{comparison{}, week, "2026-11-09 2026-11-15"},
		{comparison{}, spanOfDays(t, "2026-11-01", "2026-11-30"), "2026-10-01 2026-10-31"},
		{comparison{Kind: compareYear}, week, "2025-11-16 2025-11-22"},
		{comparison{Kind: compareYear, Weekdays: true}, week, "2025-11-17 2025-11-23"},
		{comparison{Kind: comparePrevious, Weekdays: true}, spanOfDays(t, "2026-11-26", "2026-11-26"), "2026-11-19 2026-11-19"},
		{comparison{Kind: comparePrevious, Weekdays: true}, spanOfDays(t, "2026-11-01", "2026-11-30"), "2026-09-27 2026-10-26"},
		{comparison{Kind: compareCustom, start: dayOf(t, "2026-01-05")}, week, "2026-01-05 2026-01-11"},
	} {
		assert.Equal(t, c.want, c.daysOf(c.of).String(), "%+v", c)
	}
	for day := dayOf(t, "2023-12-01"); day.Year() < 2025; day = day.AddDate(0, 0, 1) {
		for _, kind := range []string{comparePrevious, compareYear} {
			c := comparison{Kind: kind, Weekdays: true}
			of := c.daysOf(span{day, day.AddDate(0, 0, 1)})
			require.Equal(t, day.Weekday(), of.From.Weekday())
			require.True(t, of.From.Before(day))
		}
	}
}

// A day that is not over is compared with the same hours.
func TestComparisonEndsAtTheSameTimeOfDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 3, 10, 15, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		comparison
		of   span
		want string
	}{
		{comparison{}, lastDays(1)(midnight(now)), "2025-03-09 15:30"},
		{comparison{}, month(midnight(now)), "2025-02-10 15:30"},
		{comparison{Kind: compareYear}, year(midnight(now)), "2024-03-10 15:30"},
		{comparison{Kind: compareYear, Weekdays: true}, lastDays(1)(midnight(now)), "2024-03-11 15:30"},
		{comparison{Kind: compareCustom, start: dayOf(t, "2024-01-01")}, week(midnight(now)), "2024-01-01 15:30"},
	} {
		assert.Equal(t, c.want, c.until(c.of, now).Format("2006-01-02 15:04"), "%+v", c)
	}
	long := time.Date(2025, 3, 31, 15, 30, 0, 0, time.UTC)
	assert.Equal(t, "2025-03-01 00:00", comparison{}.until(month(midnight(long)), long).Format("2006-01-02 15:04"), "February has no 31st")
}
