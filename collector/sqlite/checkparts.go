package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// errInexact is returned if a segment or a rollup has more or fewer events than the table.
var errInexact = errors.New("does not have the events of its time")

// segmentsOfAll checks all segments.
func (c *checker) segmentsOfAll() error {
	var all []segment
	var sites []uint32
	var s segment
	err := eachRow(c.ctx, c.tx, "SELECT site, id, first, until FROM piece ORDER BY site, first", []any{&c.site, &s.id, &s.first, &s.until}, func() {
		all, sites = append(all, s), append(sites, c.site)
	})
	var light error
	for i, s := range all {
		if err != nil {
			break
		}
		c.site = sites[i]
		if err = c.segment(s); err != nil {
			err = setAside(&light, fmt.Errorf("segment of %s: %w", timeOf(s.first), err))
		}
	}
	c.light = append(c.light, light)
	return err
}

// setAside keeps the first error that matches ErrPrecomputed, and returns other errors.
func setAside(first *error, err error) error {
	if !errors.Is(err, ErrPrecomputed) {
		return err
	}
	*first = cmp.Or(*first, err)
	return nil
}

func (c *checker) segment(s segment) error {
	parts, err := c.parts("SELECT part, data FROM packed WHERE piece = ?", s.id)
	if err != nil {
		return err
	}
	events, ids, err := colstore.CheckSegment(colstore.DayOf(s.first), parts)
	if errors.Is(err, colstore.ErrDamaged) {
		err = ErrPrecomputed
	}
	if err == nil && !c.known(ids...) {
		err = errNoText
	}
	return cmp.Or(err, c.exact(int64(events), s.first, s.until))
}

// rollupsOfAll checks all rollups.
func (c *checker) rollupsOfAll() error {
	var all []siteDay
	var of siteDay
	err := eachRow(c.ctx, c.tx, "SELECT DISTINCT site, day FROM rollup ORDER BY site, day", []any{&of.site, &of.day}, func() { all = append(all, of) })
	var light error
	for _, of := range all {
		if err != nil {
			break
		}
		c.site = of.site
		if err = c.rollup(of); err != nil {
			err = setAside(&light, fmt.Errorf("rollup of %s: %w", timeOf(of.begin()).Format(time.DateOnly), err))
		}
	}
	c.light = append(c.light, light)
	return err
}

func (c *checker) rollup(of siteDay) error {
	parts, err := c.parts("SELECT part, data FROM rollup WHERE site = ? AND day = ?", of.site, of.day)
	if err != nil {
		return err
	}
	events, ids, err := colstore.CheckRollup(parts)
	if err != nil && len(parts) < len(colstore.RollupParts()) { // the store makes it again at its start
		err = ErrPrecomputed
	}
	if err == nil && !c.known(ids...) {
		err = errNoText
	}
	return cmp.Or(err, c.exact(events, of.begin(), of.end()))
}

func (c *checker) parts(query string, args ...any) (colstore.Parts, error) {
	parts := make(colstore.Parts)
	var part int
	var data []byte
	err := eachRow(c.ctx, c.tx, query, []any{&part, &data}, func() { parts[part], data = data, nil }, args...)
	if err != nil {
		return nil, err
	}
	if unsealAll(parts) != nil { // a checksum does not match
		return nil, ErrPrecomputed
	}
	return parts, nil
}

// exact compares a number of events with the table.
func (c *checker) exact(events, from, to int64) error {
	var rows int64
	err := c.tx.QueryRowContext(c.ctx, "SELECT count(*) FROM event WHERE site = ? AND at >= ? AND at < ?", c.site, from, to).Scan(&rows)
	if err == nil && rows != events {
		err = fmt.Errorf("%w: %d, not %d", errInexact, events, rows)
	}
	return err
}
