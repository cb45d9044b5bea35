package colstore

import (
	"iter"
	"slices"
)

// Columns are the events of a day, or of part of it, ordered by time. Columns that were not
// requested are empty, except Visitor.
type Columns struct {
	at      times // milliseconds since 1970
	visitor dictionary[uint64]
	texts   [columnLimit]dictionary[uint32] // IDs of texts; only textColumns are used
	props   dictionary[string]              // encoded sets
	masks   []uint8                         // matches of a Matcher, a bit each; not encoded

	sorted bool   // the texts of each dictionary are sorted
	pages  []byte // texts of the Path dictionary, encoded; nil if they must be looked up
}

// Batches are the events of a day, or of part of it, in several Columns, ordered by time.
// After an error there are no more.
type Batches = iter.Seq2[*Columns, error]

// Texts returns the texts of IDs, by ID. The text of ID 0 is empty.
type Texts func(ids []uint32) (map[uint32]string, error)

// AllColumns returns the columns of a segment.
func AllColumns() []Column {
	return append([]Column{At, Visitor, Props}, textColumns...)
}

// Dest returns an sql.Scanner that appends a value to a column.
func (c *Columns) Dest(of Column) any {
	switch of {
	case At:
		return &c.at
	case Visitor:
		return &c.visitor
	case Props:
		return &c.props
	default:
		return &c.texts[of]
	}
}

type times []int64

// Scan implements sql.Scanner.
func (c *times) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return ErrDamaged
	}
	*c = append(*c, n)
	return nil
}

// Join returns all events of a day. Texts may repeat in its dictionaries.
func Join(day Batches) (*Columns, error) {
	all := &Columns{}
	for c, err := range day {
		if err != nil {
			return nil, err
		}
		all.join(c)
	}
	return all, nil
}

// join appends the events of another part of the same day.
func (c *Columns) join(d *Columns) {
	c.at = append(c.at, d.at...)
	c.visitor.joinOnce(&d.visitor)
	for _, of := range textColumns {
		c.texts[of].join(&d.texts[of])
	}
	c.props.join(&d.props)
	c.masks = append(c.masks, d.masks...)
}

// Cut removes the events outside of two times. It needs At.
func (c *Columns) Cut(from, to int64) {
	a, _ := slices.BinarySearch(c.at, from)
	b, _ := slices.BinarySearch(c.at, to)
	c.at = c.at[a:b]
	for _, rows := range c.dictionaryRows() {
		if len(*rows) > 0 {
			*rows = (*rows)[a:b]
		}
	}
}

// dictionaryRows returns the rows of each dictionary.
func (c *Columns) dictionaryRows() []*[]uint32 {
	all := []*[]uint32{&c.visitor.rows, &c.props.rows}
	for _, of := range textColumns {
		all = append(all, &c.texts[of].rows)
	}
	return all
}

// Names returns the IDs of the events' names.
func (c *Columns) Names() []uint32 { return c.texts[Name].values }

// Len returns the number of events.
func (c *Columns) Len() int { return len(c.visitor.rows) }

// pageview reports whether a row is a pageview, which has no name.
func (c *Columns) pageview(row int) bool { return c.texts[Name].rows[row] == 0 }
