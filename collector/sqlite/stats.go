package sqlite

import (
	"context"
	"time"
)

// Stats says what the background work of a store has to do, for monitoring.
type Stats struct {
	FreeBytes    int64     // of the file: for new data, or to be given back
	FreeTextIDs  int64     // numbers for new texts, and up to 65,536 more; without one, events with a new text are refused
	UnsweptTexts int64     // texts of removed events that are still in the file; at most 1,000,000 are counted
	ExpiredKeys  int64     // keys that are not remembered and still in the file; at most 1,000,000 are counted
	BacklogDays  int       // days of sites whose figures are not precomputed; reports about them take longer
	LastBackup   time.Time // in whole seconds; zero if there is none of this file, or if its note cannot be read
}

// countedRows bounds what Stats counts.
const countedRows = 1_000_000

// Stats returns the state of the background work. It takes at most some tens of milliseconds.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	now := s.compactor.planner.now()
	stats := Stats{BacklogDays: s.compactor.backlog(now.UnixMilli())}
	err := s.reader.look(ctx, func(r *reading) error {
		sp, err := r.space()
		if err != nil {
			return err
		}
		stats.FreeBytes = sp.size * sp.free
		a := &s.writer.conn.intern.new
		return r.tx.QueryRowContext(r.ctx, `SELECT
			(SELECT count(*) FROM (SELECT 1 FROM unswept LIMIT ?1)),
			(SELECT count(*) FROM (SELECT 1 FROM key WHERE at <= ?2 LIMIT ?1)),
			(SELECT (?4 - count(*)) * ?3 + coalesce(sum(free), 0) FROM block WHERE id < ?4)`,
			countedRows, now.Add(-s.writer.conn.keys.window).UnixMilli(), a.length, a.blocks).
			Scan(&stats.UnsweptTexts, &stats.ExpiredKeys, &stats.FreeTextIDs)
	})
	if err != nil {
		return Stats{}, err
	}
	stats.LastBackup = s.backups.last()
	return stats, nil
}
