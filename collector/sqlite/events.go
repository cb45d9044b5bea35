package sqlite

import (
	"context"
	"slices"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// page is how many events an export reads at a time, so that a slow reader does not hold a
// snapshot of the file.
const page = 1000

func (rd *reader) recent(ctx context.Context, q store.Query, limit int) ([]store.Event, error) {
	var events []store.Event
	err := rd.read(ctx, q, func(r *reading) (err error) {
		events, err = r.events("ORDER BY at DESC, seq DESC LIMIT ?", max(limit, 0))
		return err
	})
	return events, err
}

func (rd *reader) export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	var at, seq int64
	for after := "TRUE"; ; after = "(at, seq) > (?, ?)" {
		var events []store.Event
		err := rd.read(ctx, q, func(r *reading) (err error) {
			args := []any{at, seq, page}
			if after == "TRUE" {
				args = args[2:]
			}
			events, err = r.events("AND "+after+" ORDER BY at, seq LIMIT ?", args...)
			at, seq = r.lastAt, r.lastSeq
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
		if len(events) < page {
			return nil
		}
	}
}

// row is an event as stored in the file.
type row struct {
	at, seq, visitor int64
	origin           uint32
	texts            []uint32 // of textColumns
	rest             string
	props            []byte
}

// events reads the events of the query's range.
func (r *reading) events(order string, args ...any) ([]store.Event, error) {
	e := row{texts: make([]uint32, len(textColumns))}
	into := []any{&e.at, &e.seq, &e.visitor, &e.origin, &e.rest, &e.props}
	for i := range e.texts {
		into = append(into, &e.texts[i])
	}
	var found []row
	var ids []uint32
	err := eachRow(r.ctx, r.tx, "SELECT at, seq, visitor, origin, rest, props, "+textColumnNames+`
		FROM event WHERE site = ? AND at >= ? AND at < ? `+order, into, func() {
		found, ids = append(found, e), append(append(ids, e.texts...), e.origin)
		found[len(found)-1].texts = slices.Clone(e.texts)
		r.lastAt, r.lastSeq = e.at, e.seq
		e.props = nil // not shared with the next row
	}, append([]any{r.site, r.from, r.to}, args...)...)
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
