package colstore

// Tally is the number of events with a value, and of their visitors.
type Tally struct {
	Count, Visitors int64
}

// Add adds the tally of another day.
func (t *Tally) Add(u Tally) {
	t.Count += u.Count
	t.Visitors += u.Visitors
}

// tallies counts the events and the distinct visitors of each of n values. values and
// visitors hold the indexes of each row. It sorts the rows by value first, to avoid a set of
// all pairs of value and visitor.
func tallies(n int, values, visitors []uint32, allVisitors int) []Tally {
	all := make([]Tally, n)
	for _, v := range values {
		all[v].Count++
	}
	ends := make([]uint32, n) // end of a value's rows; at first their start
	begin := uint32(0)
	for v := range all {
		ends[v] = begin
		begin += uint32(all[v].Count)
	}
	ordered := make([]uint32, len(values))
	for row, v := range values {
		ordered[ends[v]] = visitors[row]
		ends[v]++
	}
	met := make([]uint32, allVisitors) // last value, from 1, at which a visitor was seen
	row := uint32(0)
	for v := range all {
		for ; row < ends[v]; row++ {
			if visitor := ordered[row]; visitor != 0 && met[visitor] != uint32(v)+1 {
				met[visitor] = uint32(v) + 1
				all[v].Visitors++
			}
		}
	}
	return all
}
