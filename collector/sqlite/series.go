package sqlite

import (
	"cmp"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/store"
)

// series are the points of a query.
type series struct {
	all  []store.Point
	step store.Step
}

func newSeries(q store.Query, step store.Step) *series {
	s := &series{all: make([]store.Point, 0), step: step}
	if !q.From.Before(q.To) {
		return s
	}
	zone := cmp.Or(q.Zone, time.UTC)
	if step == store.Hour {
		for at := localtime.HourOf(q.From, zone); at.Before(q.To); at = localtime.NextHour(at, zone) {
			s.all = append(s.all, store.Point{At: at})
		}
		return s
	}
	date := localtime.DayOf(q.From, zone)
	for at := localtime.Start(date, zone); at.Before(q.To); {
		date = date.AddDate(0, 0, 1)
		next := localtime.Start(date, zone)
		if at.Before(next) {
			s.all = append(s.all, store.Point{At: at})
		}
		at = next
	}
	return s
}

// pointsOf returns the points that begin on a day.
func (s *series) pointsOf(d *day) []store.Point {
	at := func(ms int64) int {
		i, _ := slices.BinarySearchFunc(s.all, ms, func(p store.Point, ms int64) int { return cmp.Compare(p.At.UnixMilli(), ms) })
		return i
	}
	return s.all[at(d.begin):at(d.end)]
}

// hoursOf returns the starts of the day's hours; nil if the points are days.
func (s *series) hoursOf(d *day) (starts []int64) {
	if s.step != store.Hour {
		return nil
	}
	for _, p := range s.pointsOf(d) {
		starts = append(starts, p.At.UnixMilli())
	}
	return starts
}

// add sets the points of a day.
func (s *series) add(d *day, all store.Totals, hours []store.Totals) {
	points := s.pointsOf(d)
	if s.step != store.Hour {
		hours = []store.Totals{all}
	}
	for i := range points {
		points[i].Totals = hours[i]
	}
}
