package sqlite

import (
	"bytes"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// matcher reports which of up to eight matches an event fits, as a bit each.
type matcher struct {
	of       []store.Match
	byName   map[uint32]uint8
	byPath   map[uint32]uint8 // pages without a *
	patterns []pattern
	props    uint8 // matches that require a prop
}

// pattern is the page of a match, split at its stars.
type pattern struct {
	match uint8
	parts [][]byte
}

func (r *reading) matcher(of ...store.Match) (*matcher, error) {
	m := &matcher{of: of, byName: make(map[uint32]uint8), byPath: make(map[uint32]uint8)}
	for i, match := range of {
		if match.PropKey != "" {
			m.props |= 1 << i
		}
		value, by, ok := plain(store.Match{Page: match.Page, Event: match.Event})
		if !ok {
			if match.Page != "" {
				m.patterns = append(m.patterns, pattern{1 << i, bytes.Split([]byte(match.Page), []byte("*"))})
			}
			continue
		}
		id, found, err := r.idOf(value)
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

// matching returns visitor and masks of the events of the span that match, and at if it is
// requested.
func (d *span) matching(m *matcher, more ...column) (*columns, error) {
	want := append(more, visitor, name, path)
	if m.props != 0 {
		want = append(want, props)
	}
	all := &columns{}
	err := d.each(want, len(m.patterns) > 0, func(c *columns) error {
		if err := m.mask(d.reading, c); err != nil {
			return err
		}
		c.keepMasked()
		all.join(c)
		return nil
	})
	return all, err
}

// keepMasked keeps visitor, masks and at of the events that match, and drops the others.
func (c *columns) keepMasked() {
	kept := 0
	for row, mask := range c.masks {
		if mask == 0 {
			continue
		}
		c.masks[kept], c.visitor.of[kept] = mask, c.visitor.of[row]
		if len(c.at) > 0 {
			c.at[kept] = c.at[row]
		}
		kept++
	}
	*c = columns{at: c.at[:min(kept, len(c.at))], masks: c.masks[:kept], visitor: c.visitor}
	c.visitor.of = c.visitor.of[:kept]
}

// mask sets the mask of each event.
func (m *matcher) mask(r *reading, c *columns) error {
	byPath, err := m.pages(r, c)
	if err != nil {
		return err
	}
	bySet, err := m.bySet(c)
	if err != nil {
		return err
	}
	byName := look(m.byName, c.texts[name].values)
	paths := c.texts[path].of
	c.masks = make([]uint8, c.length())
	for i, name := range c.texts[name].of {
		if name != 0 {
			c.masks[i] = byName[name]
		} else {
			c.masks[i] = byPath[paths[i]]
		}
		if bySet != nil && c.masks[i]&m.props != 0 {
			c.masks[i] &= bySet[c.props.of[i]]
		}
	}
	return nil
}

// look returns the masks of a dictionary's values.
func look(of map[uint32]uint8, ids []uint32) []uint8 {
	masks := make([]uint8, len(ids))
	if len(of) > 0 {
		for i, id := range ids {
			masks[i] = of[id]
		}
	}
	return masks
}

// pages returns the masks of a dictionary's paths.
func (m *matcher) pages(r *reading, c *columns) ([]uint8, error) {
	ids := c.texts[path].values
	masks := look(m.byPath, ids)
	if len(m.patterns) == 0 {
		return masks, nil
	}
	if c.pages != nil {
		i := 0
		err := eachText(c.pages, func(text []byte) {
			if i < len(masks) {
				masks[i] |= m.fitted(text)
			}
			i++
		})
		if err == nil && i != len(masks) {
			err = errDamaged
		}
		return masks, err
	}
	texts, err := r.textsOf(ids)
	for i, id := range ids {
		masks[i] |= m.fitted([]byte(texts[id]))
	}
	return masks, err
}

// fitted returns the matches whose pattern fits a path.
func (m *matcher) fitted(path []byte) (mask uint8) {
	for _, p := range m.patterns {
		if fits(p.parts, path) {
			mask |= p.match
		}
	}
	return mask
}

// bySet returns for each set of props the matches that it does not exclude, or nil if none
// requires a prop.
func (m *matcher) bySet(c *columns) ([]uint8, error) {
	if m.props == 0 {
		return nil, nil
	}
	masks := make([]uint8, len(c.props.values))
	for set, column := range c.props.values {
		masks[set] = ^m.props
		err := eachProp([]byte(column), func(key, value []byte, _ bool) {
			for i, match := range m.of {
				if match.PropKey != "" && match.PropKey == string(key) && match.PropValue == string(value) {
					masks[set] |= 1 << i
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return masks, nil
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

// plain returns the only value that a match requires, and its dimension, if there is one.
func plain(m store.Match) (value string, by store.Dimension, ok bool) {
	switch {
	case m.PropKey != "":
		return "", 0, false
	case m.Event != "":
		return m.Event, store.Names, true
	}
	return m.Page, store.Pages, m.Page != "" && !strings.Contains(m.Page, "*")
}
