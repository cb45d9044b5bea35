package colstore

import "github.com/footfall-dev/footfall/collector/store"

// EachProp calls f with the props of the events: the ID of the event's name, whether the event
// has a visitor, and the prop. It does so once for all events that have these and the same set of
// props. It needs Visitor, Name and Props.
func (c *Columns) EachProp(f func(name uint32, visitor bool, p store.Prop)) error {
	type kind struct {
		name, set uint32
		visitor   bool
	}
	met := make(map[kind]struct{})
	names := &c.texts[Name]
	for row, set := range c.props.rows {
		k := kind{names.rows[row], set, c.visitor.rows[row] != 0}
		if _, again := met[k]; again || set == 0 {
			continue
		}
		met[k] = struct{}{}
		err := eachProp([]byte(c.props.values[set]), func(key, value []byte, numeric bool) {
			f(names.values[k.name], k.visitor, store.Prop{Key: string(key), Value: string(value), Numeric: numeric})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
