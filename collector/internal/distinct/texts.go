package distinct

import (
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Text is a text of events that reports count by.
type Text struct {
	Field store.Field
	Most  int    // distinct ones of a day
	Other string // stored beyond Most
}

// texts are those that a browser chooses.
var texts = textsOf(store.TextFields())

// textsOf returns a Text for each field. The collector chooses browser and device from short
// lists.
func textsOf(all []store.Field) (of []Text) {
	for _, f := range all {
		t := Text{Field: f, Most: MaxTexts, Other: store.Other}
		switch f {
		case store.Browser, store.Device:
			continue
		case store.Path:
			t.Most, t.Other = MaxPages, store.OtherPage
		case store.Name:
			t.Most = MaxNames
		}
		of = append(of, t)
	}
	return of
}

// AddText counts a text of a field that is stored, unless it took the place of others.
func (l *Limits) AddText(site string, at time.Time, field store.Field, text string) {
	i := slices.IndexFunc(texts, func(t Text) bool { return t.Field == field })
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
		if text := t.Field.Of(e); !l.allowText(d, t, *text) {
			*text = t.Other
			replaced++
		}
	}
	return replaced
}

// noName precedes the texts of fields in hashes: no event has this name, which is not UTF-8.
const noName = "\xff"

// allowText counts a text and reports whether it is within the bounds.
func (l *Limits) allowText(d *day, t *Text, text string) bool {
	if text == "" {
		return true
	}
	h := l.hash(noName, string(t.Field), text)
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

// Fields returns the fields whose texts have bounds, with the bounds.
func Fields() map[store.Field]int {
	all := make(map[store.Field]int, len(texts))
	for _, t := range texts {
		all[t.Field] = t.Most
	}
	return all
}
