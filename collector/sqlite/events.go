package sqlite

import (
	"context"
	"math"
	"slices"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// exportPage is how many events an export reads at a time, so that a slow reader does not hold a
// snapshot of the file.
const exportPage = 1000

func (rd *reader) recent(ctx context.Context, q store.Query, limit int) ([]store.Event, error) {
	if err := q.Filter.Check(); err != nil {
		return nil, err
	}
	var latest []store.Event
	err := rd.read(ctx, q, func(r *reading) (err error) {
		keeps, to, skip := newKept(q), r.to, 0 // so many events of the time before to are known already
		for len(latest) < limit {
			most := limit
			if len(q.Filter) > 0 {
				most = r.reader.exportPage
			}
			found, err := r.events("at >= ? AND at < ? ORDER BY at DESC, seq DESC LIMIT ? OFFSET ?", r.from, to, most, skip)
			if err != nil || len(found) == 0 {
				return err
			}
			for i := range found {
				keep, err := keeps.event(r, &found[i])
				if err != nil {
					return err
				}
				if keep && len(latest) < limit {
					latest = append(latest, found[i])
				}
				if at := found[i].At.UnixMilli() + 1; at == to {
					skip++
				} else {
					to, skip = at, 1
				}
			}
		}
		return nil
	})
	return latest, err
}

func (rd *reader) export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	if err := q.Filter.Check(); err != nil {
		return err
	}
	keeps := newKept(q)
	var next *place // the first event of the next page, once it is known
	for {
		var events []store.Event
		var found int
		begin := next
		next = nil
		err := rd.read(ctx, q, func(r *reading) (err error) {
			if events, next, err = r.page(begin); err == nil {
				found = len(events)
				events, err = keeps.events(r, events)
			}
			return err
		})
		if err != nil {
			return err
		}
		if begin != nil && found == 0 {
			return rd.file.named(store.ErrRemoved)
		}
		for _, e := range events {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := each(e); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
	}
}

// place orders the events of a site: by time, and then as they were added.
type place struct{ at, seq int64 }

// page reads some events of an export, and the place of the first event that follows them, if there is
// one. The next page begins with that event. If it was removed meanwhile, there is no next page: events are
// removed in their order, so as long as it is there, all later ones are, too.
//
// Two queries find the events by their whole key. A single one with (at, seq) >= (?, ?) would search from
// the start of the range: SQLite does not use such a condition for the key, which includes the site.
func (r *reading) page(begin *place) (events []store.Event, next *place, err error) {
	length := r.reader.exportPage
	from := place{r.from, math.MinInt64}
	if begin != nil {
		from = *begin
	}
	found, err := r.rows("at = ? AND seq >= ? ORDER BY seq LIMIT ?", from.at, from.seq, length+1)
	if err == nil && len(found) <= length {
		var later []row
		later, err = r.rows("at > ? AND at < ? ORDER BY at, seq LIMIT ?", from.at, r.to, length+1-len(found))
		found = append(found, later...)
	}
	if err != nil || begin != nil && (len(found) == 0 || found[0].place != from) {
		return nil, nil, err
	}
	if len(found) > length {
		next, found = &found[length].place, found[:length]
	}
	events, err = r.spell(found)
	return events, next, err
}

// row is an event as stored in the file.
type row struct {
	place
	visitor int64
	origin  uint32
	texts   []uint32 // of textColumns
	rest    string
	props   []byte
}

// events reads the site's events with a condition, in an order.
func (r *reading) events(condition string, args ...any) ([]store.Event, error) {
	found, err := r.rows(condition, args...)
	if err != nil {
		return nil, err
	}
	return r.spell(found)
}

// rows is like events, without the texts.
func (r *reading) rows(condition string, args ...any) (found []row, err error) {
	e := row{texts: make([]uint32, len(textColumns))}
	into := []any{&e.at, &e.seq, &e.visitor, &e.origin, &e.rest, &e.props}
	for i := range e.texts {
		into = append(into, &e.texts[i])
	}
	err = eachRow(r.ctx, r.tx, "SELECT at, seq, visitor, origin, rest, props, "+textColumnNames+`
		FROM event WHERE site = ? AND `+condition, into, func() {
		found = append(found, e)
		found[len(found)-1].texts = slices.Clone(e.texts)
		e.props = nil // not shared with the next row
	}, append([]any{r.site}, args...)...)
	return found, err
}

// spell returns the events of rows, with their texts.
func (r *reading) spell(found []row) ([]store.Event, error) {
	var ids []uint32
	for _, e := range found {
		ids = append(append(ids, e.texts...), e.origin)
	}
	of, err := r.textsOf(ids)
	if err != nil {
		return nil, err
	}
	events := make([]store.Event, len(found))
	for i, e := range found {
		events[i] = store.Event{Site: r.q.Site, At: timeOf(e.at), Visitor: uint64(e.visitor), URL: e.rest}
		for column, id := range e.texts {
			*textColumns[column].Of(&events[i]) = of[id]
		}
		if e.origin != 0 {
			events[i].URL = of[e.origin] + events[i].Path + e.rest
		}
		if events[i].Props, err = colstore.DecodeProps(e.props); err != nil {
			return nil, err
		}
	}
	return events, nil
}
