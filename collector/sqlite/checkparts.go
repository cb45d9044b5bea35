package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// ErrPrecomputed says that precomputed data is damaged. No figure is lost or wrong: a report that
// reads the data computes its figures from the events instead, and the store makes the data again.
var ErrPrecomputed = errors.New("is damaged; the service makes it again from the events when a report reads it")

// checker checks a snapshot of a file.
type checker struct {
	*reading
	siteKinds []string
	texts     marks   // that exist
	used      marks   // by events
	light     []error // the first damage of each kind that matches ErrPrecomputed
}

func (c *checker) readTexts() error {
	return eachRow(c.ctx, c.tx, "SELECT id FROM text", []any{&c.texts}, func() {})
}

// known reports whether all texts exist. ID 0 is the empty text.
func (c *checker) known(ids ...uint32) bool {
	for _, id := range ids {
		if id != 0 && !c.texts.has(int64(id)) {
			return false
		}
	}
	return true
}

// errNoText is returned if a text is missing.
var errNoText = errors.New("a text is missing")

func (c *checker) events() error {
	var of struct{ at, seq int64 }
	columns, err := c.textColumns()
	if err != nil {
		return err
	}
	ids := make([]uint32, len(columns))
	var props []byte
	into := []any{&of.at, &of.seq, &props}
	for i := range ids {
		into = append(into, &ids[i])
	}
	var bad error
	err = eachRow(c.ctx, c.tx, "SELECT at, seq, props, "+strings.Join(columns, ", ")+" FROM event", into, func() {
		for _, id := range ids {
			c.used.add(int64(id))
		}
		err := colstore.CheckProps(props)
		if err == nil && !c.known(ids...) {
			err = errNoText
		}
		if err != nil && bad == nil {
			bad = fmt.Errorf("event %d of %s: %w", of.seq, timeOf(of.at), err)
		}
	})
	return cmp.Or(err, bad)
}

// textColumns returns the columns of an event that hold IDs of texts. Files of earlier versions
// have fewer.
func (c *checker) textColumns() ([]string, error) {
	all := []string{"site", "origin"}
	var column string
	err := eachRow(c.ctx, c.tx, "SELECT name FROM pragma_table_info('event')", []any{&column}, func() {
		if slices.Contains(textColumns, store.Field(column)) {
			all = append(all, column)
		}
	})
	return all, err
}

// errInexact is returned if a segment or a rollup has more or fewer events than the table.
var errInexact = errors.New("does not have the events of its time")

// segmentsOfAll checks all segments.
func (c *checker) segmentsOfAll() error {
	var all []derivedPart
	var site uint32
	var s segment
	err := eachRow(c.ctx, c.tx, "SELECT site, id, first, until FROM piece ORDER BY site, first", []any{&site, &s.id, &s.first, &s.until}, func() {
		s := s
		all = append(all, derivedPart{site, "segment of " + timeOf(s.first).String(), func() error { return c.segment(s) }})
	})
	return c.checkParts(all, err)
}

// rollupsOfAll checks all rollups.
func (c *checker) rollupsOfAll() error {
	var all []derivedPart
	var of siteDay
	err := eachRow(c.ctx, c.tx, "SELECT DISTINCT site, day FROM rollup ORDER BY site, day", []any{&of.site, &of.day}, func() {
		of := of
		all = append(all, derivedPart{of.site, "rollup of " + timeOf(of.begin()).Format(time.DateOnly), func() error { return c.rollup(of) }})
	})
	return c.checkParts(all, err)
}

// derivedPart is a segment or a rollup.
type derivedPart struct {
	site  uint32
	name  string
	check func() error
}

// checkParts returns the first error that does not match ErrPrecomputed, and keeps the first that
// does.
func (c *checker) checkParts(all []derivedPart, err error) error {
	var light error
	for _, p := range all {
		if err != nil {
			break
		}
		c.site = p.site
		if err = p.check(); err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
		}
		if errors.Is(err, ErrPrecomputed) {
			light, err = cmp.Or(light, err), nil
		}
	}
	c.light = append(c.light, light)
	return err
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
	parts, err := c.reading.parts(query, args...)
	if errors.Is(err, colstore.ErrDamaged) { // a checksum does not match
		err = ErrPrecomputed
	}
	return parts, err
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
