package sqlite

import (
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// series are the points of a query.
type series struct {
	all   []store.Point
	step  store.Step
	first int64 // step of the first point, counted from 1970
}

func newSeries(q store.Query, step store.Step) *series {
	width := time.Duration(step).Milliseconds()
	first := colstore.FloorDiv(millis(q.From), width)
	if q.From.Before(q.To) {
		first = colstore.FloorDiv(q.From.UnixMilli(), width) // q.From may be in the last nanosecond of a step
	}
	s := &series{all: make([]store.Point, 0), step: step, first: first}
	if n := colstore.FloorDiv(millis(q.To)-1, width) - first + 1; n > 0 && q.From.Before(q.To) {
		s.all = make([]store.Point, n)
	}
	for i := range s.all {
		s.all[i].At = timeOf((first + int64(i)) * width)
	}
	return s
}

// add sets the points of a day.
func (s *series) add(day int64, t *colstore.Totals) {
	if s.step == store.Day {
		s.all[day-s.first].Totals = t.Day
		return
	}
	for hour, totals := range t.Hours {
		if totals != (store.Totals{}) {
			s.all[day*24+int64(hour)-s.first].Totals = totals
		}
	}
}
