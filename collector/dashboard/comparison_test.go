package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/calendar"
)

func dayOf(t *testing.T, text string) time.Time {
	t.Helper()
	day, err := time.Parse(time.DateOnly, text)
	require.NoError(t, err)
	return day
}

func spanOfDays(t *testing.T, first, last string) calendar.Span {
	t.Helper()
	return calendar.Span{From: dayOf(t, first), To: dayOf(t, last).AddDate(0, 0, 1)}
}

func rangeOf(t *testing.T, name string, now time.Time) calendar.Span {
	t.Helper()
	s, ok := calendar.Named(name, now)
	require.True(t, ok)
	return s
}

func TestComparisonFindsTheDaysToCompareWith(t *testing.T) {
	t.Parallel()
	week := spanOfDays(t, "2026-11-16", "2026-11-22") // from Monday
	for _, c := range []struct {
		comparison
		of   calendar.Span
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
			of := c.daysOf(calendar.Span{From: day, To: day.AddDate(0, 0, 1)})
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
		of   calendar.Span
		want string
	}{
		{comparison{}, rangeOf(t, "today", now), "2025-03-09 15:30"},
		{comparison{}, rangeOf(t, "month", now), "2025-02-10 15:30"},
		{comparison{Kind: compareYear}, rangeOf(t, "year", now), "2024-03-10 15:30"},
		{comparison{Kind: compareYear, Weekdays: true}, rangeOf(t, "today", now), "2024-03-11 15:30"},
		{comparison{Kind: compareCustom, start: dayOf(t, "2024-01-01")}, rangeOf(t, "week", now), "2024-01-01 15:30"},
	} {
		assert.Equal(t, c.want, c.until(c.of, now).Format("2006-01-02 15:04"), "%+v", c)
	}
	long := time.Date(2025, 3, 31, 15, 30, 0, 0, time.UTC)
	assert.Equal(t, "2025-03-01 00:00", comparison{}.until(rangeOf(t, "month", long), long).Format("2006-01-02 15:04"), "February has no 31st")
}
