package colstore

import "slices"

// pairs are pairs of a row of a table and a visitor of one of its events. They may repeat.
type pairs struct{ rows, visitors []uint32 }

func (p *pairs) add(rows []uint32, visitor uint32) {
	for _, row := range rows {
		p.rows, p.visitors = append(p.rows, row), append(p.visitors, visitor)
	}
}

// tally adds the number of distinct visitors of each row, and removes the pairs.
func (p *pairs) tally(of []Tally, visitors int) {
	if len(p.rows) > 0 {
		for i, n := range tallies(len(of), p.rows, p.visitors, visitors) {
			of[i].Visitors += n.Visitors
		}
	}
	*p = pairs{}
}

// dedupe removes repeated pairs.
func (p *pairs) dedupe() {
	all := make([]uint64, len(p.rows))
	for i, row := range p.rows {
		all[i] = uint64(row)<<32 | uint64(p.visitors[i])
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for i, pair := range all {
		p.rows[i], p.visitors[i] = uint32(pair>>32), uint32(pair)
	}
	p.rows, p.visitors = p.rows[:len(all)], p.visitors[:len(all)]
}

// keep removes the pairs of other visitors.
func (p *pairs) keep(visitor func(uint32) bool) {
	kept := 0
	for i, v := range p.visitors {
		if visitor(v) {
			p.rows[kept], p.visitors[kept] = p.rows[i], v
			kept++
		}
	}
	p.rows, p.visitors = p.rows[:kept], p.visitors[:kept]
}
