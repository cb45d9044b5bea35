package sqlite

import (
	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// A rollup holds the totals and tables of a closed day. It is always exact: a transaction
// that adds an event to its day removes it.

// newRollup returns the rollup of a day; without events nothing is saved. It also combines the
// day's segments into one unless that is too long, which halves the work of reports about
// single events.
func newRollup(of siteDay, longest int) *derived {
	var tables, whole colstore.Parts
	return &derived{
		watch: watch{site: of.site, from: of.begin(), to: of.end()},
		read: func(r *reading) (err error) {
			d := &span{reading: r, day: of.day, from: of.begin(), to: of.end()}
			var events int64
			if tables, events, err = d.tables(); err == nil && events <= int64(longest) {
				whole, err = d.whole()
			}
			return err
		},
		save: func(w *writer) error {
			if err := w.replaceSegments(of, whole); err != nil {
				return err
			}
			for part, data := range tables {
				if _, err := w.conn.ExecContext(background, "INSERT OR REPLACE INTO rollup VALUES (?, ?, ?, ?)", of.site, of.day, part, notNull(data)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// tables encodes the totals and tables of a day; nil without events.
func (d *span) tables() (parts colstore.Parts, events int64, err error) {
	totals, err := d.countTotals()
	if events = totals.Day.Pageviews + totals.Day.Events; err != nil || events == 0 {
		return nil, 0, err
	}
	parts = colstore.Parts{colstore.PartTotals: totals.Encode()}
	for by := range colstore.Dimensions {
		t := colstore.NewTopTable(store.Dimension(by))
		if err := t.CountDay(d.batches(t.Columns(), false)); err != nil {
			return nil, 0, err
		}
		if parts[colstore.PartTop+by], err = t.Encode(d.textsOf); err != nil {
			return nil, 0, err
		}
	}
	props, err := d.countProps(func(uint32) bool { return true })
	parts[colstore.PartProps] = props.Encode()
	return parts, events, err
}
