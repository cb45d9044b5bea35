package distinct

import (
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Text is a text of events that reports count by.
type Text struct {
	store.DimensionInfo
	Most  int    // distinct ones of a day
	Other string // stored beyond Most
}

// texts are those that a browser chooses.
var texts = textsOf(store.Dimensions())

// textsOf returns one Text for each column. The collector chooses browser and device from short
// lists.
func textsOf(all []store.DimensionInfo) (of []Text) {
	for _, d := range all {
		t := Text{DimensionInfo: d, Most: MaxTexts, Other: store.Other}
		switch d.By {
		case store.Browsers, store.Devices:
			continue
		case store.Pages:
			t.Most, t.Other = MaxPages, store.OtherPage
		case store.Names:
			t.Most = MaxNames
		}
		if !slices.ContainsFunc(of, func(t Text) bool { return t.Column == d.Column }) {
			of = append(of, t)
		}
	}
	return of
}

// AddText counts a text of a column that is stored, unless it took the place of others.
func (l *Limits) AddText(site string, at time.Time, column, text string) {
	i := slices.IndexFunc(texts, func(t Text) bool { return t.Column == column })
	if i < 0 || text == texts[i].Other {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowText(l.day(site, at), &texts[i], text)
}

// limitTexts returns how many texts it has replaced.
func (l *Limits) limitTexts(d *day, e *store.Event) (replaced int) {
	for i := range texts {
		t := &texts[i]
		if !l.allowText(d, t, t.Text(e)) {
			t.SetText(e, t.Other)
			replaced++
		}
	}
	return replaced
}

// noName precedes the texts of columns in hashes: no event has this name, which is not UTF-8.
const noName = "\xff"

// allowText counts a text and reports whether it is within the bounds.
func (l *Limits) allowText(d *day, t *Text, text string) bool {
	if text == "" {
		return true
	}
	h := l.hash(noName, t.Column, text)
	if _, known := d.values[h.value]; known {
		return true
	}
	if d.keys[h.key] >= t.Most {
		return false
	}
	d.keys[h.key]++
	d.values[h.value] = struct{}{}
	return true
}

// Columns returns the columns whose texts have bounds, with the bounds.
func Columns() map[string]int {
	all := make(map[string]int, len(texts))
	for _, t := range texts {
		all[t.Column] = t.Most
	}
	return all
}
