package sqlite

import (
	"math"
	"math/bits"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// marks is a set of IDs of texts, as bits. IDs that are far apart take a page of 4 KB each.
type marks struct {
	pages []*markPage
	count int
}

// markPage has the bits of markedIDs IDs.
type markPage [512]uint64

const markedIDs = 64 * int64(len(markPage{}))

// Scan implements sql.Scanner. It adds an ID.
func (m *marks) Scan(value any) error {
	id, err := textID(value)
	if err == nil {
		m.add(id)
	}
	return err
}

// textID returns the ID of a text in a column.
func textID(value any) (int64, error) {
	id, ok := value.(int64)
	if !ok || id < 0 || id > math.MaxUint32 {
		return 0, colstore.ErrDamaged
	}
	return id, nil
}

func (m *marks) add(id int64) {
	page := int(id / markedIDs)
	if page >= len(m.pages) {
		m.pages = append(m.pages, make([]*markPage, page+1-len(m.pages))...)
	}
	if m.pages[page] == nil {
		m.pages[page] = new(markPage)
	}
	if !m.has(id) {
		*m.word(id) |= 1 << (id % 64)
		m.count++
	}
}

// word returns the bits of an ID and of its neighbours, or nil if there are none.
func (m *marks) word(id int64) *uint64 {
	page := id / markedIDs
	if page >= int64(len(m.pages)) || m.pages[page] == nil {
		return nil
	}
	return &m.pages[page][id%markedIDs/64]
}

func (m *marks) has(id int64) bool {
	word := m.word(id)
	return word != nil && *word>>(id%64)&1 != 0
}

// remove removes an ID and reports whether it was there.
func (m *marks) remove(id int64) bool {
	if !m.has(id) {
		return false
	}
	*m.word(id) &^= 1 << (id % 64)
	m.count--
	return true
}

// after returns the next IDs above one in ascending order, at most limit.
func (m *marks) after(id int64, limit int) (ids []int64) {
	for id++; len(ids) < limit && id < markedIDs*int64(len(m.pages)); {
		word := m.word(id)
		switch {
		case word == nil:
			id = (id/markedIDs + 1) * markedIDs
		case *word>>(id%64) == 0:
			id = (id/64 + 1) * 64
		default:
			id += int64(bits.TrailingZeros64(*word >> (id % 64)))
			ids = append(ids, id)
			id++
		}
	}
	return ids
}
