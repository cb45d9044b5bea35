// Package localtime has the days and hours of time zones. Days are dates: times in UTC at 00:00.
//
// A day of a zone begins at the first instant whose date is that day or a later one. Where clocks are put back over midnight, the
// time that repeats belongs to the new day. A day that a zone left out, as Samoa did in 2011, is empty.
package localtime

import "time"

// Start returns the time at which a day of a zone begins.
func Start(day time.Time, zone *time.Location) time.Time {
	const most = 26 * time.Hour // of an offset
	for at := day.Add(-most); ; {
		begin, end := at.In(zone).ZoneBounds()
		_, offset := at.In(zone).Zone()
		start := day.Add(-time.Duration(offset) * time.Second)
		if !begin.IsZero() && start.Before(begin) {
			start = begin // the clock jumps over midnight
		}
		if end.IsZero() || start.Before(end) {
			return start.UTC()
		}
		at = end
	}
}

// DayOf returns the day of a time in a zone.
func DayOf(at time.Time, zone *time.Location) time.Time {
	local := at.In(zone)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	if next := day.AddDate(0, 0, 1); !Start(next, zone).After(at) {
		return next
	}
	return day
}

// Clock returns what the clocks of a zone show at a time, as a time in UTC.
func Clock(at time.Time, zone *time.Location) time.Time {
	local := at.In(zone)
	_, offset := local.Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// At returns a time at which the clocks of a zone show this, within its day. If they do so twice, it is one of the two; if never,
// the time at which they jump over it.
func At(clock time.Time, zone *time.Location) time.Time {
	day := clock.Truncate(24 * time.Hour)
	local := time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), zone)
	at := local.UTC()
	switch begin, end := local.ZoneBounds(); {
	case Clock(at, zone).Before(clock):
		at = end.UTC()
	case Clock(at, zone).After(clock):
		at = begin.UTC()
	}
	begin, end := Start(day, zone), Start(day.AddDate(0, 0, 1), zone)
	switch {
	case at.Before(begin):
		return begin
	case at.After(end):
		return end
	}
	return at
}

// NextHour returns the end of the hour of a zone that contains a time. Hours begin with minute 0 of the local time, and where
// the clock changes.
func NextHour(at time.Time, zone *time.Location) time.Time {
	next := fullHour(at, zone).Add(time.Hour)
	if _, end := at.In(zone).ZoneBounds(); end.Before(next) && changes(end, zone) {
		return end.UTC()
	}
	return next
}

// HourOf returns the start of the hour of a zone that contains a time.
func HourOf(at time.Time, zone *time.Location) time.Time {
	start := fullHour(at, zone)
	if begin, _ := at.In(zone).ZoneBounds(); begin.After(start) && changes(begin, zone) {
		return begin.UTC()
	}
	return start
}

// fullHour returns the last minute 0 of a clock that has always had the offset that it has at a time.
func fullHour(at time.Time, zone *time.Location) time.Time {
	_, seconds := at.In(zone).Zone()
	offset := time.Duration(seconds) * time.Second
	return at.Add(offset).UTC().Truncate(time.Hour).Add(-offset)
}

// changes reports whether the offset changes at a bound of a zone, which is zero if there is none.
func changes(bound time.Time, zone *time.Location) bool {
	_, before := bound.Add(-1).In(zone).Zone()
	_, after := bound.In(zone).Zone()
	return !bound.IsZero() && before != after
}
