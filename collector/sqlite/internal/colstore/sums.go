package colstore

import "strconv"

// sums adds up the numbers of a prop in the events of each row of a table.
type sums struct {
	key string // of the prop; "" if there is nothing to add up
	all []float64
}

// add adds the numbers of a batch to the sums of this many rows of the table. events calls its argument with the row of the table and the
// position of each event.
func (s *sums) add(c *Columns, rows int, events func(each func(row, event uint32))) error {
	numbers, err := numbersOf(c.props.values, s.key)
	if err != nil {
		return err
	}
	s.all = append(s.all, make([]float64, rows-len(s.all))...)
	events(func(row, event uint32) { s.all[row] += numbers[c.props.rows[event]] })
	return nil
}

// of returns the sum of a row.
func (s *sums) of(row uint32) float64 {
	if int(row) >= len(s.all) {
		return 0
	}
	return s.all[row]
}

// numbersOf returns the number that each set of props has in a prop, or 0. Numbers beyond the range of a float64 are left out.
func numbersOf(sets []string, prop string) ([]float64, error) {
	numbers := make([]float64, len(sets))
	for i, set := range sets {
		err := eachProp([]byte(set), func(key, value []byte, numeric bool) {
			if !numeric || string(key) != prop {
				return
			}
			if n, err := strconv.ParseFloat(string(value), 64); err == nil {
				numbers[i] = n
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return numbers, nil
}
