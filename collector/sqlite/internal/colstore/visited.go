package colstore

import "slices"

// visited counts the distinct visitors of each row of a table on a day. For the first rows, which are mostly the frequent ones, a bit for each
// visitor is much faster than a list of pairs.
type visited struct {
	first  []uint64 // the rows below firstRows that each visitor is in, as bits
	counts [firstRows]int64
	others pairs
}

const firstRows = 64

// pairsAtOnce is how many pairs are held before repeated ones are removed.
const pairsAtOnce = 1 << 18

// add adds an event of a row.
func (s *visited) add(row, visitor uint32) {
	if visitor == 0 {
		return
	}
	if row >= firstRows {
		s.addOther(row, visitor)
		return
	}
	if int(visitor) >= len(s.first) {
		s.first = append(s.first, make([]uint64, int(visitor)+1-len(s.first)+len(s.first)/2)...)
	}
	bit := uint64(1) << row
	if s.first[visitor]&bit == 0 {
		s.first[visitor] |= bit
		s.counts[row]++
	}
}

func (s *visited) addOther(row, visitor uint32) {
	p := &s.others
	if len(p.rows) == cap(p.rows) && len(p.rows) >= pairsAtOnce {
		p.dedupe()
		if len(p.rows) > cap(p.rows)/2 { // else it would have to be done again soon
			p.rows, p.visitors = slices.Grow(p.rows, len(p.rows)), slices.Grow(p.visitors, len(p.rows))
		}
	}
	p.rows, p.visitors = append(p.rows, row), append(p.visitors, visitor)
}

// tally adds the numbers of distinct visitors, and begins another day.
func (s *visited) tally(of []Tally, visitors int) {
	for row, n := range s.counts[:min(firstRows, len(of))] {
		of[row].Visitors += n
	}
	s.others.tally(of, visitors)
	*s = visited{}
}
