package colstore

// MsPerDay is the length of a UTC day in milliseconds.
const MsPerDay = 24 * 60 * 60 * 1000

// DayOf returns the UTC day of a time: milliseconds and days since 1970.
func DayOf(ms int64) (day int64) { return FloorDiv(ms, MsPerDay) }

// FloorDiv rounds down, unlike /, because times may be before 1970.
func FloorDiv(a, b int64) int64 {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}
