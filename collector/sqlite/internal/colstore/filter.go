package colstore

import (
	"maps"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// Filter keeps the events that meet the conditions of a [store.Filter]. Its methods may be called concurrently.
type Filter struct {
	conditions []condition
	goals      *Matcher // of all conditions on goals; nil for none
}

// condition is a condition in a form that is fast to check.
type condition struct {
	*store.Condition
	column Column
	ids    map[uint32]bool // of the values, if the condition compares whole texts of events
	mask   uint8           // of the goals
}

// NewFilter returns a filter, or nil if the filter has no condition. idOf returns the ID of a text, or false if no event has it.
func NewFilter(of store.Filter, idOf func(text string) (id uint32, found bool, err error)) (*Filter, error) {
	if len(of) == 0 {
		return nil, nil
	}
	f := &Filter{}
	var goals []store.Match
	for i := range of {
		c := condition{Condition: &of[i]}
		for _, goal := range c.Goals {
			c.mask |= 1 << len(goals)
			goals = append(goals, goal)
		}
		if c.Field.IsText() {
			c.column = columnOf(c.Field)
			if !c.Op.Partial() {
				var err error
				if c.ids, err = idsOf(c.Values, idOf); err != nil {
					return nil, err
				}
			}
		}
		f.conditions = append(f.conditions, c)
	}
	if len(goals) == 0 {
		return f, nil
	}
	var err error
	f.goals, err = NewMatcher(goals, idOf)
	return f, err
}

func idsOf(texts []string, idOf func(text string) (id uint32, found bool, err error)) (map[uint32]bool, error) {
	ids := make(map[uint32]bool)
	for _, text := range texts {
		if text == "" {
			ids[0] = true
			continue
		}
		id, found, err := idOf(text)
		if err != nil {
			return nil, err
		}
		if found {
			ids[id] = true
		}
	}
	return ids, nil
}

// Columns returns the columns that Keep needs, and whether it needs the texts of the paths.
func (f *Filter) Columns() (of []Column, pages bool) {
	for i := range f.conditions {
		switch c := &f.conditions[i]; {
		case c.Field == store.PropOf:
			of = append(of, Props)
		case c.Field.IsText():
			of, pages = append(of, c.column), pages || c.column == Path && c.Op.Partial()
		}
	}
	if f.goals != nil {
		of, pages = append(of, f.goals.Columns()...), pages || f.goals.NeedsPages()
	}
	return of, pages
}

// Goals returns a matcher of the goals of all conditions; nil if there are none. Keep needs the visitors of a day who have reached them.
func (f *Filter) Goals() *Matcher { return f.goals }

// Requires returns, if only events with one of some texts meet a condition, the field and the IDs of the texts.
func (f *Filter) Requires() (field store.Field, ids []uint32, ok bool) {
	for i := range f.conditions {
		if c := &f.conditions[i]; c.ids != nil && c.Op == store.Is && !c.ids[0] {
			return c.Field, slices.Collect(maps.Keys(c.ids)), true
		}
	}
	return "", nil, false
}

// Reached are the visitors of a day who have reached goals, with the mask of the goals.
type Reached map[uint64]uint8

// Add adds events as [Matcher.Select] keeps them.
func (r Reached) Add(c *Columns) {
	for row, mask := range c.masks {
		if v := c.visitor.rows[row]; v != 0 {
			r[c.visitor.values[v]] |= mask
		}
	}
}

// Keep drops the events of a day that do not meet the conditions.
func (f *Filter) Keep(c *Columns, texts Texts, reached Reached) error {
	rows, err := f.rows(c, texts, reached)
	if err == nil {
		c.keep(rows)
	}
	return err
}

// rows returns the rows of the events that meet the conditions.
func (f *Filter) rows(c *Columns, texts Texts, reached Reached) (rows []uint32, err error) {
	keep := make([]bool, c.Len())
	for i := range keep {
		keep[i] = true
	}
	for i := range f.conditions {
		if err := f.apply(&f.conditions[i], c, texts, reached, keep); err != nil {
			return nil, err
		}
	}
	for row, keep := range keep {
		if keep {
			rows = append(rows, uint32(row))
		}
	}
	return rows, nil
}

// DecodeSegment is like the function [DecodeSegment] and then Keep. It decodes the columns that Keep does not need only for the events that it
// keeps.
func (f *Filter) DecodeSegment(day int64, of []Column, parts Parts, texts Texts, reached Reached) (*Columns, error) {
	first, _ := f.Columns()
	first = append(first, Visitor)
	slices.Sort(first)
	first = slices.Compact(first)
	c, err := DecodeSegment(day, first, parts)
	if err != nil {
		return nil, err
	}
	all := c.Len()
	rows, err := f.rows(c, texts, reached)
	if err != nil {
		return nil, err
	}
	c.keep(rows)
	for _, column := range of {
		if slices.Contains(first, column) {
			continue
		}
		if err := c.decodeRows(column, day*MsPerDay, parts[int(column)], all, rows); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// apply clears keep for the events that do not meet a condition.
func (f *Filter) apply(of *condition, c *Columns, texts Texts, reached Reached, keep []bool) error {
	if of.Field == store.Goal {
		return f.applyGoal(of, c, texts, reached, keep)
	}
	var holds []bool
	var rows []uint32
	var err error
	if of.Field == store.PropOf {
		rows = c.props.rows
		holds, err = of.sets(c.props.values)
	} else {
		rows = c.texts[of.column].rows
		holds, err = of.texts(c, texts)
	}
	if err != nil {
		return err
	}
	negated := of.Op.Negated()
	for row, index := range rows {
		keep[row] = keep[row] && holds[index] != negated
	}
	return nil
}

// texts returns for each text of a column whether the condition holds, before it is negated.
func (of *condition) texts(c *Columns, texts Texts) ([]bool, error) {
	ids := c.texts[of.column].values
	holds := make([]bool, len(ids))
	if of.ids != nil {
		for i, id := range ids {
			holds[i] = of.ids[id]
		}
		return holds, nil
	}
	contains := of.containing()
	if of.column == Path && c.pages != nil {
		return holds, c.eachPage(func(i int, text []byte) { holds[i] = contains(string(text)) })
	}
	textOf, err := texts(ids)
	for i, id := range ids {
		holds[i] = contains(textOf[id])
	}
	return holds, err
}

// containing returns whether a text contains one of the values.
func (of *condition) containing() func(text string) bool {
	var parts []string
	for _, v := range of.Values {
		parts = append(parts, store.Fold(v))
	}
	return func(text string) bool {
		text = store.Fold(text)
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
	}
}

// sets returns for each set of props whether the condition holds, before it is negated.
func (of *condition) sets(sets []string) ([]bool, error) {
	holds := make([]bool, len(sets))
	matches := of.Holds
	if of.Op.Partial() {
		matches = of.containing()
	}
	for i, set := range sets {
		err := eachProp([]byte(set), func(key, value []byte, _ bool) {
			if string(key) == of.Key && matches(string(value)) {
				holds[i] = true
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return holds, nil
}

func (f *Filter) applyGoal(of *condition, c *Columns, texts Texts, reached Reached, keep []bool) error {
	masks, err := f.goals.masks(c, texts)
	if err != nil {
		return err
	}
	byVisitor := make([]uint8, len(c.visitor.values))
	for i, v := range c.visitor.values {
		byVisitor[i] = reached[v]
	}
	negated := of.Op.Negated()
	for row, v := range c.visitor.rows {
		mask := masks[row]
		if v != 0 {
			mask = byVisitor[v]
		}
		keep[row] = keep[row] && (mask&of.mask != 0) != negated
	}
	return nil
}

// keep drops all events except some rows, in order.
func (c *Columns) keep(rows []uint32) {
	all := c.dictionaryRows()
	for kept, row := range rows {
		if len(c.at) > 0 {
			c.at[kept] = c.at[row]
		}
		for _, of := range all {
			if len(*of) > 0 {
				(*of)[kept] = (*of)[row]
			}
		}
	}
	c.at = c.at[:min(len(rows), len(c.at))]
	for _, of := range all {
		*of = (*of)[:min(len(rows), len(*of))]
	}
}
