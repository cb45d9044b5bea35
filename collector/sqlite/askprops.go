package sqlite

import (
	"bytes"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// askedProps is a question for all props of the events with a name. They may be too many for the memory of one pass, so they
// have separate passes.
type askedProps struct {
	p      *population
	limit  int
	left   int // bytes that tables may have
	tables [][]byte
}

func (a *askedProps) day(d *day) ([]colstore.Counter, error) {
	tables, err := a.tablesOf(d)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		a.left -= len(table)
	}
	if a.left < 0 {
		return nil, store.ErrTooLarge
	}
	a.tables = append(a.tables, tables...)
	return nil, nil
}

// tablesOf returns encoded tables of the props of a day.
func (a *askedProps) tablesOf(d *day) ([][]byte, error) {
	if a.p.only {
		table, found, err := d.rolledTable(colstore.PartProps, a.p.name)
		if err != nil || found {
			return [][]byte{bytes.Clone(table)}, err // without the tables of other names
		}
	}
	tables, err := d.countProps(a.p, func(id uint32) bool { return id == a.p.name }, a.left)
	return tables[a.p.name], err
}

func (a *askedProps) answer(r *reading) (answer store.Answer, err error) {
	if answer.Props, err = colstore.MergePropTables(r.ctx, a.tables, a.limit); err != nil {
		return answer, err
	}
	answer.Numbers, err = colstore.SumProps(r.ctx, a.tables, a.limit)
	return answer, err
}

// propColumns are the columns that props are counted by.
var propColumns = []colstore.Column{colstore.Visitor, colstore.Name, colstore.Props}

// countProps counts the props of the day's events, by name. It counts one day at a time, because
// that may take 100 MB.
func (d *day) countProps(p *population, wanted func(name uint32) bool, most int) (colstore.PropTables, error) {
	if err := d.reader.counting.wait(d.ctx); err != nil {
		return nil, err
	}
	defer d.reader.counting.done()
	batches, err := p.of(d, propColumns, false, unchanged)
	if err != nil {
		return nil, err
	}
	return colstore.CountProps(d.ctx, batches, wanted, most)
}
