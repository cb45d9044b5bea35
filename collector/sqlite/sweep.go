package sqlite

import (
	"context"
	"math"
	"slices"
)

// A sweep removes the texts of the table unswept that no event uses. It reads all events and takes
// the texts that they use out of the table. Then it removes the texts that are left in the table, and
// blanks the pages of the file. The file records how far the sweep has read, so a sweep goes on after a
// crash. Texts that are noted meanwhile wait for the next sweep: this one may have read past an event
// that uses them.
//
// A search is like a sweep of all texts: it adds those that no event uses to the table. Only a file
// that an earlier version wrote needs it. The file does not have how far it is.

// sweep is a sweep or a search that has not ended. Each step reads or writes a bounded number of rows.
type sweep struct {
	search bool
	round  int64                                 // number of the sweep
	step   func(context.Context, *sweeper) error // nil at the end
	wanted marks                                 // texts that were not found in an event yet
	text   int64                                 // the last text that was read, and then the last one that was removed
	group  int64                                 // the next pages to blank
	at     position                              // of the last event that was read
}

// position orders the events of the file: by site, and the events of a site by place.
type position struct {
	site int64
	place
}

// firstPosition is before all events.
var firstPosition = position{place: place{at: math.MinInt64}}

// nextSweep returns the sweep to do, or nil if there is none.
func (s *sweeper) nextSweep(ctx context.Context) (*sweep, error) {
	w := &sweep{}
	var searched, begun, noted bool
	err := s.reader.view(ctx, func(r *reading) error {
		return r.tx.QueryRowContext(r.ctx, "SELECT searched, round, begun, site, at, seq, ("+anyUnswept+") FROM sweep").
			Scan(&searched, &w.round, &begun, &w.at.site, &w.at.at, &w.at.seq, &noted)
	})
	switch {
	case err != nil:
		return nil, err
	case !searched:
		w.search, w.at = true, firstPosition
	case !begun && !noted:
		return nil, nil
	case !begun:
		w.round, w.at = w.round+1, firstPosition
		if err := s.writer.write(ctx, (*connection).beginSweep); err != nil {
			return nil, err
		}
	}
	w.step = w.load
	return w, nil
}

// load reads some of the texts that the sweep is about.
func (w *sweep) load(ctx context.Context, s *sweeper) error {
	table := "unswept"
	if w.search {
		table = "text"
	}
	rows := 0
	err := s.reader.view(ctx, func(r *reading) error {
		return eachRow(r.ctx, r.tx, "SELECT id FROM "+table+" WHERE id > ? ORDER BY id LIMIT ?", []any{&w.text}, func() {
			w.wanted.add(w.text)
			rows++
		}, w.text, s.rows)
	})
	if rows < s.rows {
		w.step = w.read
	}
	return err
}

// read reads some events. It has read enough when it has found all texts.
func (w *sweep) read(ctx context.Context, s *sweeper) error {
	found, rows := used{wanted: &w.wanted}, 0
	into := append([]any{&w.at.site, &w.at.at, &w.at.seq}, textDestinations(&found)...)
	err := s.reader.view(ctx, func(r *reading) error {
		return eachRow(r.ctx, r.tx, "SELECT site, at, seq, "+eventTexts+" FROM event WHERE (site, at, seq) > (?, ?, ?) ORDER BY site, at, seq LIMIT ?",
			into, func() { rows++ }, w.at.site, w.at.at, w.at.seq, s.rows)
	})
	if err == nil && !w.search {
		err = w.save(ctx, s, found.ids)
	}
	if rows < s.rows || w.wanted.count == 0 {
		w.step, w.text = w.finish, 0
	}
	return err
}

// used collects the wanted texts that events use.
type used struct {
	wanted *marks
	ids    []int64
}

// Scan implements sql.Scanner.
func (u *used) Scan(value any) error {
	id, err := textID(value)
	if err == nil && u.wanted.remove(id) {
		u.ids = append(u.ids, id)
	}
	return err
}

// save takes texts out of the table, and then saves how far the sweep is.
func (w *sweep) save(ctx context.Context, s *sweeper, found []int64) error {
	round, at := w.round, w.at
	for some := range slices.Chunk(found, s.texts) {
		if err := s.writer.write(ctx, func(c *connection) error { return c.keepTexts(round, some) }); err != nil {
			return err
		}
	}
	return s.writer.write(ctx, func(c *connection) error { return c.saveSweep(at) })
}

// finish removes some of the texts that were not found. A search notes them instead.
func (w *sweep) finish(ctx context.Context, s *sweeper) error {
	if w.search {
		return w.note(ctx, s)
	}
	round, after, last := w.round, w.text, int64(0)
	err := s.writer.write(ctx, func(c *connection) (err error) {
		last, err = c.removeTexts(round, after, s.texts)
		return err
	})
	if err != nil { // the writer may still be using last
		return err
	}
	if w.text = last; last == 0 {
		w.step = w.blank
	}
	return nil
}

// blank blanks a group of pages. After the last group the sweep ends.
func (w *sweep) blank(ctx context.Context, s *sweeper) error {
	var slack []slackPage
	var found bool
	var size int64
	err := s.reader.view(ctx, func(r *reading) error {
		now, err := r.space()
		if err != nil || !now.canBlank() {
			return err
		}
		size = now.size
		slack, found, err = slackOf(r.ctx, r.tx, w.group, size)
		return err
	})
	switch {
	case err != nil:
		return err
	case !found:
		return w.end(ctx, s)
	}
	if group := w.group; len(slack) > 0 {
		err = s.writer.write(ctx, func(c *connection) error { return c.blank(group, size) })
	}
	w.group++
	return err
}

func (w *sweep) end(ctx context.Context, s *sweeper) error {
	round, more := w.round, false
	err := s.writer.write(ctx, func(c *connection) (err error) {
		more, err = c.endSweep(round)
		return err
	})
	if err != nil { // the writer may still be using more
		return err
	}
	w.step, s.dirty = nil, true
	if more {
		s.due.Store(true)
	}
	return nil
}

// note notes some of the texts that were not found.
func (w *sweep) note(ctx context.Context, s *sweeper) error {
	some := w.wanted.after(w.text, s.texts)
	over := len(some) < s.texts
	if err := s.writer.write(ctx, func(c *connection) error { return c.noteUnused(some, over) }); err != nil {
		return err
	}
	if over {
		w.step = nil
		s.due.Store(true)
		return nil
	}
	w.text = some[len(some)-1]
	return nil
}
