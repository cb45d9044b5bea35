package sqlite

import (
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// matcher tells which of up to eight matches an event fits, as a bit for each.
type matcher struct {
	of     []store.Match
	byName map[uint32]uint8
	exact  map[uint32]uint8 // pages without a pattern
	byPath map[uint32]uint8 // of the pages seen so far, if there are patterns
	props  uint8            // matches that ask for a prop
	stars  bool             // there are patterns
}

func (r *reading) matcher(of ...store.Match) (*matcher, error) {
	m := &matcher{of: of, byName: make(map[uint32]uint8), exact: make(map[uint32]uint8), byPath: make(map[uint32]uint8)}
	for i, match := range of {
		if match.PropKey != "" {
			m.props |= 1 << i
		}
		value, by, ok := plain(store.Match{Page: match.Page, Event: match.Event})
		if !ok {
			m.stars = m.stars || match.Page != ""
			continue
		}
		id, found, err := r.idOf(value)
		switch {
		case err != nil:
			return nil, err
		case found && by == store.Names:
			m.byName[id] |= 1 << i
		case found:
			m.exact[id] |= 1 << i
		}
	}
	return m, nil
}

// columns are those that masks needs, and the visitor.
func (m *matcher) columns() []string {
	if m.props != 0 {
		return []string{visitor, name, path, props}
	}
	return []string{visitor, name, path}
}

// masks returns for each event what it fits.
func (m *matcher) masks(r *reading, c *columns) ([]uint8, error) {
	byPath := m.exact
	if m.stars {
		if err := m.learn(r, c); err != nil {
			return nil, err
		}
		byPath = m.byPath
	}
	bySet, err := m.bySet(c)
	if err != nil {
		return nil, err
	}
	masks := make([]uint8, len(c.at))
	for i, name := range c.name {
		if name != 0 {
			masks[i] = m.byName[name]
		} else {
			masks[i] = byPath[c.path[i]]
		}
		if bySet != nil && masks[i]&m.props != 0 {
			masks[i] &= bySet[c.props.of[i]]
		}
	}
	return masks, nil
}

// learn finds out what each page fits that was not there before.
func (m *matcher) learn(r *reading, c *columns) error {
	var fresh []uint32
	for i, id := range c.path {
		if c.name[i] != 0 {
			continue
		}
		if _, known := m.byPath[id]; !known {
			m.byPath[id] = m.exact[id]
			fresh = append(fresh, id)
		}
	}
	texts, err := r.textsOf(fresh)
	if err != nil {
		return err
	}
	for id, path := range texts {
		for i, match := range m.of {
			if match.Event == "" && match.Page != "" && fits(match.Page, path) {
				m.byPath[id] |= 1 << i
			}
		}
	}
	return nil
}

// bySet returns for each set of props the matches that are not against it, or nil if
// none asks for a prop.
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

// fits reports whether all of s fits a pattern, in which * stands for any characters.
// It takes what is between stars where it comes first, which never takes room from what
// follows: so it needs no second try.
func fits(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, s, ok = strings.Cut(s, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
