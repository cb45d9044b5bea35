package sqlite

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// A segment is a copy of many events of a day as encoded columns. It is made when no more
// events of its span are expected. Segments do not overlap. They are always exact: a
// transaction that adds an event to a segment's span removes the segment.
//
// The table of segments is named piece, and the table of their parts packed. Released files
// have these names.

// defaultSegmentLength is the number of events in a segment of the current day, and so about
// the most events that a report reads one by one.
const defaultSegmentLength = 1 << 14

// segmentProps is about the most bytes of props in a segment, because reports hold one segment in
// memory.
const segmentProps = 32 << 20

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
	var part int
	var data []byte
	parts := make(colstore.Parts, len(want))
	err := eachRow(r.ctx, r.tx, "SELECT part, data FROM packed WHERE piece = ? AND part IN ("+list(want)+")",
		[]any{&part, &data}, func() { parts[part], data = data, nil }, id)
	switch {
	case err != nil:
		return nil, err
	case len(parts) != len(want):
		return nil, colstore.ErrDamaged
	}
	return parts, unsealAll(parts)
}

// endOfProps returns the end of a segment, earlier than to if the events have too many bytes of
// props.
func (r *reading) endOfProps(from, to int64) (end int64, err error) {
	const query = `SELECT at + 1 FROM (SELECT at, sum(length(props)) OVER (ORDER BY at, seq) AS bytes
		FROM event WHERE site = ? AND at >= ? AND at < ?) WHERE bytes >= ? LIMIT 1`
	err = r.tx.QueryRowContext(r.ctx, query, r.site, from, to, r.s.segmentProps).Scan(&end)
	if errors.Is(err, sql.ErrNoRows) {
		return to, nil
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
