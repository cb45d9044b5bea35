package sqlite

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

var (
	_ store.Store      = (*Store)(nil)
	_ store.Inspector  = (*Store)(nil)
	_ store.Backlogged = (*Store)(nil)
	_ store.Bounded    = (*Store)(nil)
)

// Store is safe for concurrent use.
type Store struct {
	file      *file
	writer    *writer
	reader    *reader
	compactor *compactor
	sweeper   *sweeper
	backups   *backupNote
	closed    atomic.Bool // by the first Close
}

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, e store.Event) (added bool, err error) {
	return s.writer.add(ctx, &e)
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, kind string, rec store.Record) error {
	data := append([]byte{}, rec.Data...) // not NULL, and not shared with the caller
	return s.writer.exec(ctx, "INSERT OR REPLACE INTO record VALUES (?, ?, ?)", kind, rec.ID, data)
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, kind, id string) error {
	return s.writer.exec(ctx, "DELETE FROM record WHERE kind = ? AND id = ?", kind, id)
}

// Scrub erases removed data from all files of the store: it copies the overwritten pages from
// the log into the file and empties the log. It does not wait for reports, because that would
// block all writes: while a report is being read it returns store.ErrBusy.
func (s *Store) Scrub(ctx context.Context) error { return s.writer.scrub(ctx) }

// Forget implements store.Store. Texts that no event uses any more, such as paths, are removed later,
// in the background, also if the process ends before.
func (s *Store) Forget(ctx context.Context, site string, before time.Time) error {
	defer s.sweeper.wakeUp()
	return s.compactor.forget(ctx, site, before)
}

// Damage implements store.Inspector. The error names the file. It stays until the store is opened
// again.
func (s *Store) Damage() error { return s.file.firstDamage() }

// Full implements store.Bounded: the events of a file have a bounded number of different texts. Texts
// of removed events make room.
func (s *Store) Full() error {
	if s.writer.conn.intern.new.full.Load() {
		return s.file.named(errNoIDs)
	}
	return nil
}

// Backlog implements store.Backlogged.
func (s *Store) Backlog() (store.Backlog, bool) { return s.compactor.progress.backlog() }

// Backup implements store.Store.
func (s *Store) Backup(ctx context.Context, to string) error {
	if err := s.file.enter(ctx); err != nil {
		return err
	}
	return s.file.failed(ctx, Backup(ctx, s.file.path, to))
}

// Records implements store.Store.
func (s *Store) Records(ctx context.Context, kind string) ([]store.Record, error) {
	return s.reader.records(ctx, kind)
}

// Sites implements store.Store.
func (s *Store) Sites(ctx context.Context) ([]string, error) { return s.reader.sites(ctx) }

// Recent implements store.Store.
func (s *Store) Recent(ctx context.Context, q store.Query, limit int) ([]store.Event, error) {
	return s.reader.recent(ctx, q, limit)
}

// Export implements store.Store. It may include events that are added meanwhile.
func (s *Store) Export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	return s.reader.export(ctx, q, each)
}

// Ask implements store.Store.
func (s *Store) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	return s.reader.ask(ctx, q, questions)
}

// EachProp implements store.Store.
func (s *Store) EachProp(ctx context.Context, q store.Query, each func(name string, visitor bool, p store.Prop)) error {
	return s.reader.eachProp(ctx, q, each)
}

// Funnel implements store.Store.
func (s *Store) Funnel(ctx context.Context, q store.Query, steps []store.Match) (store.Funnel, error) {
	return s.reader.funnel(ctx, q, steps)
}
