package localtime

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// zones returns all zones that Go has.
func zones(t *testing.T) (all []*time.Location) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	file, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	for _, f := range file.File {
		if !strings.HasSuffix(f.Name, "/") {
			all = append(all, load(t, f.Name))
		}
	}
	require.Greater(t, len(all), 400)
	return all
}

func load(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err, name)
	return zone
}

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// latestDate returns the latest date that the clocks of a zone have shown until a time, looking back a day in steps, and at the
// instant before the last change.
func latestDate(at time.Time, zone *time.Location) time.Time {
	begin, _ := at.In(zone).ZoneBounds()
	latest := time.Time{}
	for _, seen := range []time.Time{at, begin.Add(-time.Second)} {
		local := seen.In(zone)
		if d := date(local.Year(), local.Month(), local.Day()); !seen.After(at) && d.After(latest) {
			latest = d
		}
	}
	return latest
}

func TestDaysOfEveryZoneFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, zone := range zones(t) {
		for at := date(1970, 1, 1); at.Year() < 2030; {
			first := at.Truncate(24*time.Hour).AddDate(0, 0, -1)
			for day := range 3 {
				checkDay(t, first.AddDate(0, 0, day), zone)
			}
			_, change := at.In(zone).ZoneBounds()
			if change.IsZero() {
				break
			}
			at = change.UTC()
		}
	}
}

func checkDay(t *testing.T, day time.Time, zone *time.Location) {
	t.Helper()
	start, end := Start(day, zone), Start(day.AddDate(0, 0, 1), zone)
	require.False(t, end.Before(start), "%s %s", zone, day)
	require.LessOrEqual(t, end.Sub(start), 48*time.Hour, "%s %s", zone, day)
	if start.Equal(end) {
		return
	}
	for _, at := range []time.Time{start, end.Add(-1), start.Add(end.Sub(start) / 2)} {
		require.Equal(t, day, DayOf(at, zone), "%s %s", zone, at)
		require.Equal(t, day, latestDate(at, zone), "%s %s", zone, at)
	}
	at := start
	for at.Before(end) {
		next := NextHour(at, zone)
		require.True(t, next.After(at) && next.Sub(at) <= time.Hour, "%s %s", zone, at)
		require.Equal(t, at, HourOf(at, zone), "%s", zone)
		require.Equal(t, at, HourOf(next.Add(-1), zone), "%s", zone)
		at = next
	}
	require.Equal(t, end, at, "%s: the last hour of %s ends with the day", zone, day)
}

func TestDaysWhoseClocksChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone       string
		day        time.Time
		start, end string
	}{
		{"Europe/Berlin", date(2026, 3, 29), "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"Europe/Berlin", date(2026, 10, 25), "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"Asia/Kathmandu", date(2026, 1, 1), "2025-12-31T18:15:00Z", "2026-01-01T18:15:00Z"},
		{"Australia/Lord_Howe", date(2026, 4, 5), "2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z"},
		{"Pacific/Apia", date(2011, 12, 29), "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", date(2011, 12, 30), "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", date(2011, 12, 31), "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"America/Sao_Paulo", date(2018, 11, 4), "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}, // no midnight
		{"America/Sao_Paulo", date(2018, 2, 17), "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"}, // 23:00 twice
		{"America/Havana", date(2026, 11, 1), "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},    // two midnights
		{"America/St_Johns", date(2010, 11, 7), "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},  // 00:01 is followed by 23:01
		{"America/St_Johns", date(2010, 11, 6), "2010-11-06T02:30:00Z", "2010-11-07T02:30:00Z"},
		{"America/Los_Angeles", date(2026, 7, 1), "2026-07-01T07:00:00Z", "2026-07-02T07:00:00Z"},
	} {
		zone := load(t, c.zone)
		assert.Equal(t, c.start, Start(c.day, zone).Format(time.RFC3339), "%s %s", c.zone, c.day)
		assert.Equal(t, c.end, Start(c.day.AddDate(0, 0, 1), zone).Format(time.RFC3339), "%s %s", c.zone, c.day)
	}
}

func TestClocksShowATimeWithinItsDay(t *testing.T) {
	t.Parallel()
	berlin, apia := load(t, "Europe/Berlin"), load(t, "Pacific/Apia")
	at := time.Date(2026, 7, 1, 22, 30, 0, 5, time.UTC)
	assert.Equal(t, time.Date(2026, 7, 2, 0, 30, 0, 5, time.UTC), Clock(at, berlin))
	assert.Equal(t, at, At(Clock(at, berlin), berlin))
	noTime := time.Date(2026, 3, 29, 2, 30, 0, 0, time.UTC)
	assert.Equal(t, time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), At(noTime, berlin), "the clock jumps from 02:00 to 03:00")
	assert.Equal(t, time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), At(time.Date(2026, 3, 8, 2, 30, 0, 0, time.UTC), load(t, "America/New_York")))
	assert.Equal(t, Start(date(2011, 12, 31), apia), At(time.Date(2011, 12, 30, 12, 0, 0, 0, time.UTC), apia), "a day that was left out")
	for _, zone := range zones(t) {
		for hour := range 24 * 10 {
			at := time.Date(2026, 10, 24, hour, 15, 0, 0, time.UTC)
			again := At(Clock(at, zone), zone)
			require.Equal(t, Clock(at, zone), Clock(again, zone), "%s %s", zone, at)
		}
	}
}
