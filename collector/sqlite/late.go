package sqlite

import (
	"context"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// The compactor gives way to a busy writer. Then millions of events of a day may be in no segment, and
// each report of a page would read them one by one. Making the segments takes less time than one page.

// report is like read for a report that counts the events of a range. It has the segments made first if
// many events of today or yesterday are in none. If that fails, the report reads these events.
func (rd *reader) report(ctx context.Context, q store.Query, f func(*reading) error) error {
	var late []siteDay
	err := rd.read(ctx, q, func(r *reading) (err error) {
		if late, err = r.lateDays(); err != nil || len(late) > 0 {
			return err
		}
		return f(r)
	})
	if err != nil || len(late) == 0 {
		return err
	}
	for _, of := range late {
		rd.pack(ctx, of)
	}
	return rd.read(ctx, q, f)
}

// lateDays returns which of today and yesterday have many events in the range that are in no segment.
func (r *reading) lateDays() (late []siteDay, err error) {
	today := colstore.DayOf(r.reader.now().UnixMilli())
	for of := (siteDay{r.site, today - 1}); of.day <= today; of.day++ {
		from, to := max(r.from, of.begin()), min(r.to, of.end())
		if from >= to {
			continue
		}
		var packed int64
		if _, err := r.find(&packed, "SELECT coalesce(max(until), 0) FROM piece WHERE site = ? AND first >= ? AND first < ?", r.site, of.begin(), of.end()); err != nil {
			return nil, err
		}
		_, many, err := r.timeOfEvent(max(from, packed), to, r.reader.many)
		if err != nil {
			return nil, err
		}
		if many {
			late = append(late, of)
		}
	}
	return late, nil
}

// pack makes the segments of a day for a report that waits for them, without giving way to the writer.
func (c *compactor) pack(ctx context.Context, of siteDay) {
	for more := true; more; {
		var err error
		if more, err = c.compactNext(ctx, of); err != nil {
			return // the compactor meets and logs it
		}
	}
}
