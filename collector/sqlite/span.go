package sqlite

import (
	"cmp"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// span is a UTC day, or a part of it.
type span struct {
	*reading
	day      int64
	from, to int64
}

// full reports whether the span is the whole day.
func (d *span) full() bool { return d.to-d.from == colstore.MsPerDay }

// day is a day of the query's zone, or the part of it in the range.
type day struct {
	*reading
	begin, end int64   // of the whole day
	spans      []*span // one for each UTC day, in order
}

// only returns the day of a span.
func (d *span) only() *day {
	return &day{reading: d.reading, begin: d.from, end: d.to, spans: []*span{d}}
}

// dayOf returns the day of a time.
func (r *reading) dayOf(at int64) *day {
	zone := cmp.Or(r.q.Zone, time.UTC)
	date := localtime.DayOf(timeOf(at), zone)
	d := &day{reading: r, begin: localtime.Start(date, zone).UnixMilli(), end: localtime.Start(date.AddDate(0, 0, 1), zone).UnixMilli()}
	for from, to := max(d.begin, r.from), min(d.end, r.to); from < to; {
		s := &span{reading: r, day: colstore.DayOf(from), from: from}
		s.to = min((s.day+1)*colstore.MsPerDay, to)
		d.spans = append(d.spans, s)
		from = s.to
	}
	return d
}

// days calls f with each day that has events in the range.
func (r *reading) days(f func(*day) error) error {
	next, err := r.tx.PrepareContext(r.ctx, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at LIMIT 1")
	if err != nil {
		return err
	}
	defer func() { _ = next.Close() }()
	for from := r.from; ; {
		var at int64
		err := next.QueryRowContext(r.ctx, r.site, from, r.to).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		d := r.dayOf(at)
		if err := f(d); err != nil {
			return err
		}
		from = d.end
	}
}

// rolledDays returns the days of the range whose rollup has all parts. A rollup of an earlier
// version may have fewer.
func (r *reading) rolledDays() (map[int64]bool, error) {
	parts := colstore.RollupParts()
	var day int64
	rolled := make(map[int64]bool)
	err := eachRow(r.ctx, r.tx, "SELECT day FROM rollup WHERE site = ? AND day BETWEEN ? AND ? AND part IN ("+list(parts)+") GROUP BY day HAVING count(*) = ?",
		[]any{&day}, func() { rolled[day] = true }, r.site, colstore.DayOf(r.from), colstore.DayOf(r.to), len(parts))
	return rolled, err
}

// rollupPart reads a part of the day's rollup. It is not found if the day is not a whole UTC day,
// if it is not rolled up yet, or if the part is damaged: then the events must be counted.
func (d *day) rollupPart(part int) (data []byte, found bool, err error) {
	if len(d.spans) != 1 || !d.spans[0].full() {
		return nil, false, nil
	}
	return d.spans[0].rollupPart(part)
}

// rollupPart reads a part of the rollup of the whole UTC day.
func (d *span) rollupPart(part int) (data []byte, found bool, err error) {
	found, err = d.find(&data, "SELECT data FROM rollup WHERE site = ? AND day = ? AND part = ?", d.site, d.day, part)
	if err != nil || !found {
		return nil, false, err
	}
	if data, err = colstore.Unseal(part, data); err != nil {
		d.reader.damaged(siteDay{d.site, d.day})
		return nil, false, nil
	}
	return data, true, nil
}

// A segment is a copy of many events of a day as encoded columns. It is made when no more
// events of its span are expected. Segments do not overlap. They are always exact: a
// transaction that adds an event to a segment's span removes the segment.
//
// The table of segments is named piece, and the table of their parts packed. Released files
// have these names.

type segment struct{ id, first, until int64 }

// segments returns the segments of a day, in order.
func (r *reading) segments(day int64) (all []segment, err error) {
	var s segment
	err = eachRow(r.ctx, r.tx, "SELECT id, first, until FROM piece WHERE site = ? AND first >= ? AND first < ? ORDER BY first",
		[]any{&s.id, &s.first, &s.until}, func() { all = append(all, s) }, r.site, day*colstore.MsPerDay, (day+1)*colstore.MsPerDay)
	return all, err
}

// segmentParts reads parts of a segment.
func (r *reading) segmentParts(id int64, want []int) (colstore.Parts, error) {
	parts, err := r.parts("SELECT part, data FROM packed WHERE piece = ? AND part IN ("+list(want)+")", id)
	if err == nil && len(parts) != len(want) {
		err = colstore.ErrDamaged
	}
	return parts, err
}

// parts reads parts, checks them and removes their checksums.
func (r *reading) parts(query string, args ...any) (colstore.Parts, error) {
	var part int
	var data []byte
	parts := make(colstore.Parts)
	err := eachRow(r.ctx, r.tx, query, []any{&part, &data}, func() { parts[part], data = data, nil }, args...)
	for part, data := range parts {
		if err == nil {
			parts[part], err = colstore.Unseal(part, data)
		}
	}
	return parts, err
}

// endOfProps returns the end of a segment, earlier than to if the events have this many bytes of
// props.
func (r *reading) endOfProps(from, to int64, most int) (end int64, err error) {
	const query = `SELECT at + 1 FROM (SELECT at, sum(length(props)) OVER (ORDER BY at, seq) AS bytes
		FROM event WHERE site = ? AND at >= ? AND at < ?) WHERE bytes >= ? LIMIT 1`
	found, err := r.find(&end, query, r.site, from, to, most)
	if !found {
		end = to
	}
	return end, err
}

// list returns numbers for a query, separated by commas.
func list(numbers []int) string {
	var all []string
	for _, n := range numbers {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}
