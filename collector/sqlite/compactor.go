package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// The keeper is a goroutine that makes pieces and rollups. It reads concurrently with the
// writer and writes in small transactions, so that events are added between them.

const (
	// keepEvery is how often the keeper checks for work.
	keepEvery = time.Second

	// settled is how long events of a time may still arrive. A later one removes the piece,
	// which is then made again.
	settled = 2 * time.Second

	// busyRate is the rate of commits per second above which the machine counts as busy. The
	// keeper then waits up to patience, and rests restShare times as long as it has worked.
	busyRate  = 100
	patience  = 30 * time.Second
	restShare = 39
	maxRest   = 15 * time.Second
)

// keepUp runs the keeper until ctx ends.
func (s *Store) keepUp(ctx context.Context) {
	defer close(s.retired)
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	var p pace
	for well := true; ; {
		if !p.waits(s.commits.Load()) {
			well = s.tryCatchUp(ctx, well)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// pace decides at each tick whether the keeper waits for a busy writer.
type pace struct {
	commits int64
	waited  time.Duration
}

func (p *pace) waits(commits int64) bool {
	busy := commits-p.commits > busyRate
	p.commits = commits
	if busy && p.waited < patience {
		p.waited += keepEvery
		return true
	}
	p.waited = 0
	return false
}

// tryCatchUp does the work that is due, and reports whether it succeeded. It logs only the
// first of several failures, and none while the store closes: the next Open continues.
func (s *Store) tryCatchUp(ctx context.Context, well bool) bool {
	err := s.catchUp(ctx)
	if err != nil && well && !s.closed.Load() {
		s.logger.Warn("sqlite: cannot save precomputed figures, reports are slower", "file", s.file, "error", err)
	}
	return err == nil
}

// catchUp does the work that is due.
func (s *Store) catchUp(ctx context.Context) error {
	if err := s.keeping.wait(ctx); err != nil {
		return err
	}
	defer s.keeping.done()
	days, all := s.due.take(s.today(), s.pieces)
	if all {
		if err := s.findDue(ctx); err != nil {
			s.due.anything()
			return err
		}
		more, _ := s.due.take(s.today(), s.pieces)
		days = slices.Concat(days, more)
	}
	for i, of := range days {
		if err := s.keepDay(ctx, of); err != nil {
			for _, of := range days[i:] {
				s.due.again(of, s.pieces)
			}
			return err
		}
	}
	return nil
}

func (s *Store) today() int64 { return colstore.DayOf(s.now().UnixMilli()) }

// findDue adds all days without a rollup.
func (s *Store) findDue(ctx context.Context) error {
	var found []dayOf
	r := &reading{s: s, ctx: ctx, from: math.MinInt64 / 2, to: math.MaxInt64 / 2}
	err := r.state(func() error {
		sites, err := r.sites()
		if err != nil {
			return err
		}
		for _, r.site = range sites {
			err := r.days(func(d *span) error {
				if !d.rolled {
					found = append(found, dayOf{d.site, d.day})
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, of := range found {
		s.due.again(of, s.pieces)
	}
	return err
}

// sites returns the sites with events, with one look-up each.
func (r *reading) sites() (all []uint32, err error) {
	var site uint32
	err = eachRow(r.ctx, r.tx, `WITH RECURSIVE site (id) AS (SELECT min(site) FROM event
		UNION ALL SELECT (SELECT min(site) FROM event WHERE site > id) FROM site WHERE id IS NOT NULL)
		SELECT id FROM site WHERE id IS NOT NULL`, []any{&site}, func() { all = append(all, site) })
	return all, err
}

// keepDay makes the pieces of a day, and its rollup if the day is over.
func (s *Store) keepDay(ctx context.Context, of dayOf) error {
	for more := true; more; {
		begin, commits := time.Now(), s.commits.Load()
		var err error
		if more, err = s.keepSome(ctx, of); err != nil {
			return err
		}
		if err := s.rest(ctx, time.Since(begin), s.commits.Load()-commits); err != nil {
			return err
		}
	}
	return nil
}

// keepSome makes one piece or the rollup of a day, and reports whether there is more to do.
func (s *Store) keepSome(ctx context.Context, of dayOf) (more bool, err error) {
	if err := s.forgetting.wait(ctx); err != nil { // not while events are being removed
		return false, err
	}
	defer s.forgetting.done()
	next, err := s.nextWork(ctx, of)
	switch {
	case err != nil || next.nothing:
		return false, err
	case next.from < next.to:
		kept, err := s.derive(ctx, newPiece(of.site, next.from, next.to))
		if err == nil && !kept {
			s.due.again(of, s.pieces)
		}
		return kept, err
	case next.rollUp:
		_, err := s.derive(ctx, newRollup(of, s.pieces*wholeLength)) // a change marks the day as due again
		return false, err
	}
	s.due.again(of, next.left)
	return false, nil
}

// rest pauses the keeper while the writer is busy.
func (s *Store) rest(ctx context.Context, worked time.Duration, commits int64) error {
	if float64(commits) < busyRate*worked.Seconds() {
		return nil
	}
	select {
	case <-time.After(min(worked*restShare, maxRest)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work is the next step for a day.
type work struct {
	nothing  bool
	rollUp   bool
	from, to int64 // bounds of a piece; equal for none
	left     int   // number of events that are too few for a piece
}

func (s *Store) nextWork(ctx context.Context, of dayOf) (next work, err error) {
	open := of.day >= s.today()
	err = s.stateOf(ctx, of.site, of.begin(), of.end(), func(r *reading) (err error) {
		rolled, err := r.rolledDays()
		if err != nil {
			return err
		}
		if next.nothing = rolled[of.day]; next.nothing {
			return nil
		}
		next.rollUp = !open
		all, err := r.pieces(of.day)
		if err != nil {
			return err
		}
		for _, g := range gaps(of.day, all) {
			var left int
			if next.from, next.to, left, err = r.cutPiece(g, open); err != nil || next.from < next.to {
				return err
			}
			next.left += left
		}
		return nil
	})
	return next, err
}

// cutPiece returns the bounds of a piece at the start of a gap, a long one if there are many
// events. If the gap is still growing and has too few events, it returns their number.
func (r *reading) cutPiece(g gap, open bool) (from, to int64, left int, err error) {
	end, growing := g.to, open && g.last
	if growing {
		end = min(end, r.s.now().Add(-settled).UnixMilli())
	}
	for _, length := range []int{r.s.pieces * wholeLength, r.s.pieces} {
		var last int64
		err = r.tx.QueryRowContext(r.ctx, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at LIMIT 1 OFFSET ?",
			r.site, g.from, end, length-1).Scan(&last)
		if err == nil {
			return g.from, min(last+1, g.to), 0, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, 0, 0, err
		}
	}
	err = r.tx.QueryRowContext(r.ctx, "SELECT count(*) FROM event WHERE site = ? AND at >= ? AND at < ?", r.site, g.from, g.to).Scan(&left)
	if err != nil || left == 0 || growing {
		return 0, 0, left, err
	}
	return g.from, g.to, 0, nil
}
