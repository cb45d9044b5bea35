package colstore

import (
	"bytes"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// MaxMatches is the number of bits in a mask.
const MaxMatches = 8

// Matcher reports which of its matches an event fits, as a mask: a bit each.
type Matcher struct {
	of       []store.Match
	byName   map[uint32]uint8
	byPath   map[uint32]uint8 // pages without a *
	patterns []pattern
	props    uint8 // matches that require a prop
}

// pattern is the page of a match, split at its stars.
type pattern struct {
	mask  uint8
	parts [][]byte
}

// NewMatcher returns a matcher of at most MaxMatches matches. idOf returns the ID of a text,
// or false if no event has the text.
func NewMatcher(of []store.Match, idOf func(text string) (id uint32, found bool, err error)) (*Matcher, error) {
	m := &Matcher{of: of, byName: make(map[uint32]uint8), byPath: make(map[uint32]uint8)}
	for i, match := range of {
		if match.PropKey != "" {
			m.props |= 1 << i
		}
		value, by, ok := OnlyValue(store.Match{Page: match.Page, Event: match.Event})
		if !ok {
			if match.Page != "" {
				m.patterns = append(m.patterns, pattern{1 << i, bytes.Split([]byte(match.Page), []byte("*"))})
			}
			continue
		}
		id, found, err := idOf(value)
		switch {
		case err != nil:
			return nil, err
		case found && by == store.Names:
			m.byName[id] |= 1 << i
		case found:
			m.byPath[id] |= 1 << i
		}
	}
	return m, nil
}

// OnlyValue returns the only value that a match requires, and its dimension, if there is one.
func OnlyValue(m store.Match) (value string, by store.Dimension, ok bool) {
	switch {
	case m.PropKey != "":
		return "", store.Dimension{}, false
	case m.Event != "":
		return m.Event, store.Names, true
	}
	return m.Page, store.Pages, m.Page != "" && !strings.Contains(m.Page, "*")
}

// Columns returns the columns that Select needs.
func (m *Matcher) Columns() []Column {
	if m.props != 0 {
		return []Column{Visitor, Name, Path, Props}
	}
	return []Column{Visitor, Name, Path}
}

// NeedsPages reports whether Select needs the texts of the paths.
func (m *Matcher) NeedsPages() bool { return len(m.patterns) > 0 }

// Select keeps the Visitor of the events that match and their masks, and At if c has it. It may be
// called concurrently.
func (m *Matcher) Select(c *Columns, texts Texts) (err error) {
	if c.masks, err = m.masks(c, texts); err == nil {
		c.keepMasked()
	}
	return err
}

// keepMasked keeps visitor, masks and at of the events that match, and drops the others.
func (c *Columns) keepMasked() {
	kept := 0
	for row, mask := range c.masks {
		if mask == 0 {
			continue
		}
		c.masks[kept], c.visitor.rows[kept] = mask, c.visitor.rows[row]
		if len(c.at) > 0 {
			c.at[kept] = c.at[row]
		}
		kept++
	}
	*c = Columns{at: c.at[:min(kept, len(c.at))], masks: c.masks[:kept], visitor: c.visitor}
	c.visitor.rows = c.visitor.rows[:kept]
}

// masks returns the mask of each event.
func (m *Matcher) masks(c *Columns, texts Texts) ([]uint8, error) {
	byPath, err := m.pathMasks(c, texts)
	if err != nil {
		return nil, err
	}
	bySet, err := m.propMasks(c)
	if err != nil {
		return nil, err
	}
	byName := idMasks(m.byName, c.texts[Name].values)
	paths := c.texts[Path].rows
	masks := make([]uint8, c.Len())
	for i, name := range c.texts[Name].rows {
		if name != 0 {
			masks[i] = byName[name]
		} else {
			masks[i] = byPath[paths[i]]
		}
		if bySet != nil && masks[i]&m.props != 0 {
			masks[i] &= bySet[c.props.rows[i]]
		}
	}
	return masks, nil
}

// pathMasks returns the masks of a dictionary's paths.
func (m *Matcher) pathMasks(c *Columns, texts Texts) ([]uint8, error) {
	ids := c.texts[Path].values
	masks := idMasks(m.byPath, ids)
	if len(m.patterns) == 0 {
		return masks, nil
	}
	if c.pages != nil {
		return masks, c.eachPage(func(i int, text []byte) { masks[i] |= m.patternMask(text) })
	}
	textOf, err := texts(ids)
	for i, id := range ids {
		masks[i] |= m.patternMask([]byte(textOf[id]))
	}
	return masks, err
}

// idMasks returns the masks of a dictionary's values.
func idMasks(of map[uint32]uint8, ids []uint32) []uint8 {
	masks := make([]uint8, len(ids))
	if len(of) > 0 {
		for i, id := range ids {
			masks[i] = of[id]
		}
	}
	return masks
}

// patternMask returns the matches whose pattern fits a path.
func (m *Matcher) patternMask(path []byte) (mask uint8) {
	for _, p := range m.patterns {
		if fits(p.parts, path) {
			mask |= p.mask
		}
	}
	return mask
}

// IsMatch reports whether an event matches.
func IsMatch(m *store.Match, e *store.Event) bool {
	switch {
	case m.Event != "":
		if e.Name != m.Event {
			return false
		}
	case m.Page == "" || e.Name != "" || !fits(bytes.Split([]byte(m.Page), []byte("*")), []byte(e.Path)):
		return false
	}
	return m.PropKey == "" || slices.ContainsFunc(e.Props, func(p store.Prop) bool { return p.Key == m.PropKey && p.Value == m.PropValue })
}

// fits reports whether a pattern, split at its stars, matches all of s. Stars match any
// characters. Each part is matched at its first occurrence, which leaves the most room for
// the rest, so no backtracking is needed.
func fits(parts [][]byte, s []byte) bool {
	if len(parts) == 1 {
		return bytes.Equal(parts[0], s)
	}
	s, ok := bytes.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, s, ok = bytes.Cut(s, part); !ok {
			return false
		}
	}
	return bytes.HasSuffix(s, parts[len(parts)-1])
}

// propMasks returns for each set of props the matches that it does not exclude, or nil if none
// requires a prop.
func (m *Matcher) propMasks(c *Columns) ([]uint8, error) {
	if m.props == 0 {
		return nil, nil
	}
	masks := make([]uint8, len(c.props.values))
	for i, set := range c.props.values {
		masks[i] = ^m.props
		err := eachProp([]byte(set), func(key, value []byte, _ bool) {
			for bit, match := range m.of {
				if match.PropKey != "" && match.PropKey == string(key) && match.PropValue == string(value) {
					masks[i] |= 1 << bit
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return masks, nil
}
