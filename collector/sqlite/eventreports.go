package sqlite

import (
	"context"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// eventColumns are the columns that events are counted by.
var eventColumns = []colstore.Column{colstore.At, colstore.Visitor, colstore.Name, colstore.Path}

// countEvents counts the events of the span by name.
func (d *span) countEvents(wanted func(name uint32) bool) (*colstore.EventTables, error) {
	c, err := d.columns(eventColumns...)
	if err != nil {
		return nil, err
	}
	return colstore.CountEvents(c, wanted), nil
}

func (rd *reader) seriesOf(ctx context.Context, q store.Query, event string, step store.Step) ([]store.Point, error) {
	points, err := newSeries(q, step)
	if err != nil {
		return nil, err
	}
	err = rd.readOf(ctx, q, event, func(r *reading, id uint32) error {
		return r.days(func(d *span) error {
			t, err := d.hoursOf(id)
			points.add(d.day, &t)
			return err
		})
	})
	return points.all, err
}

// hoursOf returns the totals of the span's events with a name.
func (d *span) hoursOf(name uint32) (colstore.Totals, error) {
	data, found, err := d.rollupPart(colstore.PartEventHours)
	if err != nil {
		return colstore.Totals{}, err
	}
	if found {
		table, err := colstore.FindTable(data, name)
		if err != nil {
			return colstore.Totals{}, err
		}
		return colstore.DecodeHours(table)
	}
	events, err := d.countEvents(func(id uint32) bool { return id == name })
	if err != nil {
		return colstore.Totals{}, err
	}
	return events.Hours(name), nil
}

func (rd *reader) breakdown(ctx context.Context, q store.Query, event, number string, props []store.Prop, limit int) (all store.Breakdown, err error) {
	for _, p := range props { // if no event has the name
		all.Props = append(all.Props, store.SumRow{Value: p.Value})
	}
	err = rd.readOf(ctx, q, event, func(r *reading, id uint32) error {
		b := colstore.NewBreakdown(id, number, props)
		err := r.days(func(d *span) error {
			if none, err := d.hasNone(id); none || err != nil {
				return err
			}
			for c, err := range d.batches(colstore.BreakdownColumns, false) {
				if err == nil {
					err = b.Add(c)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			all, err = b.Report(props, limit, r.textsOf)
		}
		return err
	})
	return all, err
}

// hasNone reports whether the day's rollup says that there are no events with a name.
func (d *span) hasNone(name uint32) (bool, error) {
	data, found, err := d.rollupPart(colstore.PartEventHours)
	if err != nil || !found {
		return false, err
	}
	table, err := colstore.FindTable(data, name)
	return len(table) == 0, err
}

func (rd *reader) pagesOf(ctx context.Context, q store.Query, event string, limit int) ([]store.Row, error) {
	var rows []store.Row
	info, _ := store.EventPages.Info()
	err := rd.readOf(ctx, q, event, func(r *reading, id uint32) error {
		all := colstore.NewTopTable(info)
		var days [][]byte
		err := r.days(func(d *span) error {
			table, err := d.pagesOf(id, all)
			if len(table) > 0 {
				days = append(days, table)
			}
			return err
		})
		if err == nil {
			err = all.Merge(days)
		}
		if err == nil {
			rows, err = all.Rows(limit, r.textsOf)
		}
		return err
	})
	return rows, err
}

// pagesOf returns the encoded table of the pages of the span's events with a name, or adds them to
// a table if the day is not rolled up.
func (d *span) pagesOf(name uint32, to *colstore.TopTable) ([]byte, error) {
	data, found, err := d.rollupPart(colstore.PartEventPages)
	if err != nil {
		return nil, err
	}
	if found {
		return colstore.FindTable(data, name)
	}
	events, err := d.countEvents(func(id uint32) bool { return id == name })
	if err == nil {
		events.AddPages(to, name)
	}
	return nil, err
}
