package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Filter selects the events that meet all of its conditions. Without a condition it selects all events.
type Filter []Condition

// Condition is a condition on an event.
//
// A condition with Goal is about the visitor: it holds for all events of a visitor, on each day on which one of them is among Goals,
// and for an event without a visitor if the event itself is. Both only see events of the range of the [Query], and do not look at the other
// conditions. All other conditions are about the event itself.
type Condition struct {
	Field  Field
	Key    string   // of the prop, if Field is PropOf
	Op     Op       //
	Values []string // the condition holds if any of them is the value, or part of it
	Goals  []Match  // in place of Values, if Field is Goal
}

// Op is how a condition compares.
type Op string

// Ops. The negated ones hold for each event for which the others do not hold, so also for events that have no such prop.
const (
	Is          Op = "is"
	IsNot       Op = "is_not"
	Contains    Op = "contains" // ignores case
	ContainsNot Op = "contains_not"
)

// Negated reports whether the op is the negation of another.
func (o Op) Negated() bool { return o == IsNot || o == ContainsNot }

// Partial reports whether the op compares with a part of the value.
func (o Op) Partial() bool { return o == Contains || o == ContainsNot }

// Bounds of a filter.
const (
	MaxConditions      = 20
	MaxConditionValues = 100
	MaxConditionText   = 2048 // bytes of a value
	MaxFilterGoals     = 8    // of all conditions
)

// Check returns what is wrong with the filter, or nil.
func (f Filter) Check() error {
	if len(f) > MaxConditions {
		return fmt.Errorf("a filter has %d conditions at most", MaxConditions)
	}
	goals := 0
	for i := range f {
		if err := f[i].check(); err != nil {
			return err
		}
		goals += len(f[i].Goals)
	}
	if goals > MaxFilterGoals {
		return fmt.Errorf("a filter has %d goals at most", MaxFilterGoals)
	}
	return nil
}

func (c *Condition) check() error {
	switch {
	case !slices.Contains([]Op{Is, IsNot, Contains, ContainsNot}, c.Op):
		return fmt.Errorf("there is no operator %q: use is, is_not, contains or contains_not", c.Op)
	case c.Field == Goal && c.Op.Partial():
		return errors.New("a condition on a goal needs the operator is or is_not")
	case c.Field == Goal && len(c.Goals) == 0:
		return errors.New("a condition on a goal names no goal")
	case c.Field == Goal:
		return nil
	case c.Field != PropOf && !c.Field.IsText():
		return fmt.Errorf("there is no condition on %q", c.Field)
	case len(c.Values) == 0:
		return fmt.Errorf("the condition on %s has no value", c.Field)
	case len(c.Values) > MaxConditionValues:
		return fmt.Errorf("a condition has %d values at most", MaxConditionValues)
	}
	for _, v := range c.Values {
		if len(v) > MaxConditionText {
			return fmt.Errorf("a value of the condition on %s is longer than %d bytes", c.Field, MaxConditionText)
		}
		if v == "" && c.Op.Partial() {
			return fmt.Errorf("the condition on %s has an empty value, which each text contains", c.Field)
		}
	}
	return nil
}

// Name returns the name that all events have that the filter selects, if it requires one.
func (f Filter) Name() (name string, ok bool) {
	i := slices.IndexFunc(f, func(c Condition) bool { return c.Field == Name && c.Op == Is && len(c.Values) == 1 })
	if i < 0 {
		return "", false
	}
	return f[i].Values[0], true
}

// Fold returns the form of a text that Contains compares.
func Fold(text string) string { return strings.ToLower(text) }

// Keeps reports whether an event meets the conditions. reached reports whether the event, or its visitor on the same day, has
// reached one of the goals of the condition with this index.
func (f Filter) Keeps(e *Event, reached func(condition int) bool) bool {
	for i := range f {
		c := &f[i]
		met := false
		if c.Field == Goal {
			met = reached(i)
		} else if value, some := c.valueOf(e); some {
			met = c.Holds(value)
		}
		if met == c.Op.Negated() {
			return false
		}
	}
	return true
}

// valueOf returns the text that the condition compares.
func (c *Condition) valueOf(e *Event) (value string, some bool) {
	if c.Field != PropOf {
		return *c.Field.Of(e), true
	}
	i := slices.IndexFunc(e.Props, func(p Prop) bool { return p.Key == c.Key })
	if i < 0 {
		return "", false
	}
	return e.Props[i].Value, true
}

// Holds reports whether a text is one of the values, or contains one. It does not negate.
func (c *Condition) Holds(text string) bool {
	if !c.Op.Partial() {
		return slices.Contains(c.Values, text)
	}
	text = Fold(text)
	return slices.ContainsFunc(c.Values, func(v string) bool { return strings.Contains(text, Fold(v)) })
}
