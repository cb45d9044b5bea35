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
	var events []store.Event
	err := rd.read(ctx, q, func(r *reading) (err error) {
		events, err = r.events("at >= ? AND at < ? ORDER BY at DESC, seq DESC LIMIT ?", r.from, r.to, max(limit, 0))
		return err
	})
	return events, err
}

func (rd *reader) export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	last := place{at: millis(q.From) - 1, seq: math.MaxInt64}
	for {
		var events []store.Event
		err := rd.read(ctx, q, func(r *reading) (err error) {
			r.last = last
			events, err = r.page()
			last = r.last
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := each(e); err != nil {
				return err
			}
		}
		if len(events) < rd.exportPage {
			return nil
		}
	}
}

// place orders the events of a site: by time, and then as they were added.
type place struct{ at, seq int64 }

// page reads the events of an export that follow the last one. Two queries find them by their whole
// key. A single one with (at, seq) > (?, ?) would search from the start of the range: SQLite does not
// use such a condition for the key, of which the site is a part.
func (r *reading) page() ([]store.Event, error) {
	length := r.reader.exportPage
	events, err := r.events("at = ? AND seq > ? ORDER BY seq LIMIT ?", r.last.at, r.last.seq, length)
	if err != nil || len(events) == length {
		return events, err
	}
	later, err := r.events("at > ? AND at < ? ORDER BY at, seq LIMIT ?", r.last.at, r.to, length-len(events))
	return append(events, later...), err
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
	e := row{texts: make([]uint32, len(textColumns))}
	into := []any{&e.at, &e.seq, &e.visitor, &e.origin, &e.rest, &e.props}
	for i := range e.texts {
		into = append(into, &e.texts[i])
	}
	var found []row
	var ids []uint32
	err := eachRow(r.ctx, r.tx, "SELECT at, seq, visitor, origin, rest, props, "+textColumnNames+`
		FROM event WHERE site = ? AND `+condition, into, func() {
		found, ids = append(found, e), append(append(ids, e.texts...), e.origin)
		found[len(found)-1].texts = slices.Clone(e.texts)
		r.last = e.place
		e.props = nil // not shared with the next row
	}, append([]any{r.site}, args...)...)
	if err != nil {
		return nil, err
	}
	return r.spell(found, ids)
}

// spell returns the events of rows, with their texts.
func (r *reading) spell(found []row, ids []uint32) ([]store.Event, error) {
	of, err := r.textsOf(ids)
	if err != nil {
		return nil, err
	}
	events := make([]store.Event, len(found))
	for i, e := range found {
		events[i] = store.Event{Site: r.q.Site, At: timeOf(e.at), Visitor: uint64(e.visitor), URL: e.rest}
		for column, id := range e.texts {
			textColumns[column].SetText(&events[i], of[id])
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
