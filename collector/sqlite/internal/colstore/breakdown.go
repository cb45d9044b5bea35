package colstore

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// BreakdownColumns are the columns that [Breakdown.Add] needs.
var BreakdownColumns = []Column{Visitor, Name, Source, Medium, Campaign, Props}

// Breakdown divides the events with a name by source, medium, campaign and some props.
type Breakdown struct {
	name   uint32
	number string                      // key of the prop to add up
	texts  [len(breakdownTexts)]idSums // by breakdownTexts
	props  map[pair]*store.SumRow
}

var breakdownTexts = [...]Column{Source, Medium, Campaign}

type pair struct{ key, value string }

// NewBreakdown returns a breakdown without events.
func NewBreakdown(name uint32, number string, props []store.Prop) *Breakdown {
	b := &Breakdown{name: name, number: number, texts: [...]idSums{{}, {}, {}}, props: make(map[pair]*store.SumRow)}
	for _, p := range props {
		b.props[pair{p.Key, p.Value}] = &store.SumRow{Value: p.Value}
	}
	return b
}

// idSums are sums by the ID of a text.
type idSums map[uint32]*store.SumRow

func (s idSums) add(column *dictionary[uint32], row int, n float64) error {
	id := column.values[column.rows[row]]
	if id == 0 {
		return nil
	}
	sum := s[id]
	if sum == nil {
		if len(s) == store.MaxBreakdown {
			return store.ErrTooLarge
		}
		sum = &store.SumRow{}
		s[id] = sum
	}
	sum.Count++
	sum.Sum += n
	return nil
}

// Add adds the events of a batch.
func (b *Breakdown) Add(c *Columns) error {
	sets := make(map[uint32]setSums)
	names := &c.texts[Name]
	for row, index := range names.rows {
		if names.values[index] != b.name {
			continue
		}
		set, known := sets[c.props.rows[row]]
		if !known {
			var err error
			if set, err = b.setSums(c.props.values[c.props.rows[row]]); err != nil {
				return err
			}
			sets[c.props.rows[row]] = set
		}
		for _, sum := range set.of {
			sum.Count++
			sum.Sum += set.number
		}
		for i, of := range breakdownTexts {
			if err := b.texts[i].add(&c.texts[of], row, set.number); err != nil {
				return err
			}
		}
	}
	return nil
}

// setSums has the number that a set of props adds, and the sums that it adds it to.
type setSums struct {
	number float64
	of     []*store.SumRow
}

func (b *Breakdown) setSums(set string) (s setSums, err error) {
	err = eachProp([]byte(set), func(key, value []byte, numeric bool) {
		if numeric && string(key) == b.number {
			if n, err := strconv.ParseFloat(string(value), 64); err == nil {
				s.number = n
			}
		}
		if sum := b.props[pair{string(key), string(value)}]; sum != nil {
			s.of = append(s.of, sum)
		}
	})
	return s, err
}

// Report returns the breakdown, with the sums of props in their order.
func (b *Breakdown) Report(props []store.Prop, limit int, texts Texts) (r store.Breakdown, err error) {
	for _, p := range props {
		r.Props = append(r.Props, *b.props[pair{p.Key, p.Value}])
	}
	for i, rows := range []*[]store.SumRow{&r.Sources, &r.Mediums, &r.Campaigns} {
		if *rows, err = b.texts[i].rows(limit, texts); err != nil {
			return store.Breakdown{}, err
		}
	}
	return r, nil
}

func (s idSums) rows(limit int, texts Texts) ([]store.SumRow, error) {
	textOf, err := texts(slices.Collect(maps.Keys(s)))
	if err != nil {
		return nil, err
	}
	var all []store.SumRow
	for id, sum := range s {
		sum.Value = textOf[id]
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b store.SumRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	return all[:min(len(all), max(limit, 0))], nil
}
