package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	driver "modernc.org/sqlite"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// AddAll adds many events in one transaction.
func AddAll(ctx context.Context, s *Store, events []store.Event) error {
	return s.writer.write(ctx, func(c *connection) error {
		for _, e := range events {
			if _, err := c.addEvent(&e); err != nil {
				return err
			}
		}
		return c.changes.removeStale()
	})
}

// Version is the newest version of the file.
var Version = len(migrations)

// Migrate migrates a file and leaves its parts as they are.
func Migrate(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", dsn(file)+writerPragmas)
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, &Config{File: file}, db), db.Close())
}

// AddAndFail adds events in a transaction that fails.
func AddAndFail(ctx context.Context, s *Store, events []store.Event, err error) error {
	return s.writer.write(ctx, func(c *connection) error {
		for _, e := range events {
			if _, err := c.addEvent(&e); err != nil {
				return err
			}
		}
		return err
	})
}

// SpaceFor returns how much space the upgrade of a file needs.
func SpaceFor(ctx context.Context, file string, version int) (int64, error) {
	db, err := sql.Open("sqlite", dsn(file))
	if err != nil {
		return 0, err
	}
	return spaceFor(ctx, db, version), db.Close()
}

// Rollups returns the number of days with a rollup.
func Rollups(t testing.TB, s *Store) (days int) {
	t.Helper()
	require.NoError(t, s.reader.db.QueryRowContext(t.Context(), "SELECT count(*) FROM rollup WHERE part = ?", colstore.PartTotals).Scan(&days))
	return days
}

// Scalar returns the result of a query.
func Scalar[T any](t testing.TB, s *Store, query string) (value T) {
	t.Helper()
	require.NoError(t, s.reader.db.QueryRowContext(t.Context(), query).Scan(&value))
	return value
}

// Exec runs a statement on the writer's connection.
func Exec(t testing.TB, s *Store, statement string, args ...any) {
	t.Helper()
	require.NoError(t, s.writer.exec(t.Context(), statement, args...))
}

// PlantKeys adds n keys with the given time.
func PlantKeys(t testing.TB, s *Store, n int, at time.Time) {
	t.Helper()
	require.NoError(t, s.writer.write(t.Context(), func(c *connection) error {
		_, err := c.conn.ExecContext(background, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?)
			INSERT INTO key SELECT 1, 'planted ' || i, ? FROM n`, n, at.UnixMilli())
		return err
	}))
}

// PlantRandomKeys adds n random keys of 36 characters with the given time.
func PlantRandomKeys(t testing.TB, s *Store, n int, at time.Time) {
	t.Helper()
	for left := n; left > 0; left -= 100_000 {
		require.NoError(t, s.writer.write(t.Context(), func(c *connection) error {
			_, err := c.conn.ExecContext(background, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?)
				INSERT INTO key SELECT 1, hex(randomblob(18)), ? FROM n`, min(left, 100_000), at.UnixMilli()-int64(left))
			return err
		}))
	}
}

// Commits returns the number of transactions that added events.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }

// Queued returns the number of jobs in the writer's queue.
func (s *Store) Queued() int { return len(s.writer.queue) }

// Hold keeps the writer busy until release is called.
func Hold(t testing.TB, s *Store) (release func()) {
	held, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.writer.write(context.Background(), func(*connection) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return func() { close(free) }
}

// HoldCompactor blocks the compactor until release is called.
func HoldCompactor(t testing.TB, s *Store) (release func()) {
	t.Helper()
	require.NoError(t, s.compactor.compacting.wait(t.Context()))
	return s.compactor.compacting.done
}

// SetSegmentLength changes the number of events in a segment while HoldCompactor holds the compactor.
func SetSegmentLength(s *Store, n int) { s.compactor.planner.length, s.reader.many = n, n*lateFactor }

// HoldSteps keeps the compactor from making a segment or a rollup until release is called.
func HoldSteps(t testing.TB, s *Store) (release func()) {
	t.Helper()
	require.NoError(t, s.compactor.forgetting.wait(t.Context()))
	return s.compactor.forgetting.done
}

// LimitPages makes the disk appear full when the file has this many pages.
func LimitPages(t testing.TB, s *Store, pages int) {
	t.Helper()
	require.NoError(t, s.writer.write(t.Context(), func(c *connection) error {
		_, err := c.conn.ExecContext(background, fmt.Sprintf("PRAGMA max_page_count=%d", pages))
		return err
	}))
}

// WriterPragma returns a setting of the writer's connection.
func WriterPragma(t testing.TB, s *Store, name string) (value string) {
	t.Helper()
	require.NoError(t, s.writer.write(t.Context(), func(c *connection) error {
		return c.conn.QueryRowContext(background, "PRAGMA "+name).Scan(&value)
	}))
	return value
}

// OpenWithSegments opens a store with another segment length.
func OpenWithSegments(ctx context.Context, cfg Config, length int) (*Store, error) {
	cfg.segmentLength = length
	return Open(ctx, cfg)
}

// LimitSegmentProps sets the bytes of props in a segment.
func LimitSegmentProps(s *Store, bytes int) { s.compactor.planner.props = bytes }

// LimitPropBytes sets the bytes of props that a report may hold.
func LimitPropBytes(s *Store, bytes int) { s.reader.maxPropBytes = bytes }

// LimitExportPage sets the number of events that an export reads at a time.
func LimitExportPage(s *Store, events int) { s.reader.exportPage = events }

// VisitedPages returns how many pages of the file the reports in f visit.
func VisitedPages(t testing.TB, s *Store, f func()) int {
	t.Helper()
	s.reader.db.SetMaxOpenConns(1) // each connection counts for itself
	defer s.reader.db.SetMaxOpenConns(readers)
	visited := func() (pages int) {
		conn, err := s.reader.db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.Raw(func(c any) error {
			for _, op := range []driver.DBStatusOp{driver.DBStatusCacheHit, driver.DBStatusCacheMiss} {
				n, _, err := c.(driver.DBStatus).Status(op, false)
				if err != nil {
					return err
				}
				pages += n
			}
			return nil
		}))
		return pages
	}
	before := visited()
	f()
	return visited() - before
}

// HoldCounting keeps reports from counting the props of a day until release is called.
func HoldCounting(t testing.TB, s *Store) (release func()) {
	t.Helper()
	require.NoError(t, s.reader.counting.wait(t.Context()))
	return s.reader.counting.done
}

// Settle makes all segments and rollups that are due.
func Settle(t testing.TB, s *Store) {
	t.Helper()
	require.NoError(t, TrySettle(t.Context(), s))
}

// TrySettle is like Settle, but may fail.
func TrySettle(ctx context.Context, s *Store) error {
	c := s.compactor
	for IsDue(s) {
		if err := c.catchUp(ctx); err != nil {
			return err
		}
	}
	return c.catchUp(ctx) // waits for the compactor in the background
}

// TryCatchUp runs one tick of the compactor.
func TryCatchUp(ctx context.Context, s *Store) (well bool) {
	return s.compactor.tryCatchUp(ctx, true)
}

// CatchUpHeld does the work that is due while HoldCompactor holds the compactor.
func CatchUpHeld(t testing.TB, s *Store) {
	t.Helper()
	s.compactor.compacting.done()
	require.NoError(t, s.compactor.catchUp(t.Context()))
	require.NoError(t, s.compactor.compacting.wait(t.Context()))
}

// IsDue reports whether the compactor has work.
func IsDue(s *Store) bool {
	d := s.compactor.due
	d.mu.Lock()
	all := d.all
	d.mu.Unlock()
	return all || d.count(s.compactor.planner.now().UnixMilli()) > 0
}

// Segments returns the number of segments.
func Segments(t testing.TB, s *Store) int {
	t.Helper()
	return Scalar[int](t, s, "SELECT count(*) FROM piece")
}

// RollUpWhile computes the rollup of a day, calls f, and then tries to save the rollup.
func RollUpWhile(t testing.TB, s *Store, site string, day time.Time, f func()) (saved bool) {
	t.Helper()
	of := siteDay{siteID(t, s, site), colstore.DayOf(day.UnixMilli())}
	return deriveWhile(t, s, newRollup(of, s.compactor.planner.length*lateFactor, segmentProps), f)
}

// SegmentWhile computes a segment of a span, calls f, and then tries to save the segment.
func SegmentWhile(t testing.TB, s *Store, site string, from, to time.Time, f func()) (saved bool) {
	t.Helper()
	return deriveWhile(t, s, newSegment(siteID(t, s, site), from.UnixMilli(), to.UnixMilli()), f)
}

func siteID(t testing.TB, s *Store, site string) (id uint32) {
	t.Helper()
	require.NoError(t, s.reader.db.QueryRowContext(t.Context(), "SELECT id FROM text WHERE value = ?", site).Scan(&id))
	return id
}

func deriveWhile(t testing.TB, s *Store, d *derived, f func()) bool {
	t.Helper()
	require.NoError(t, s.compactor.compacting.wait(t.Context()))
	defer s.compactor.compacting.done()
	read := d.read
	d.read = func(r *reading) error {
		defer f()
		return read(r)
	}
	saved, err := d.make(t.Context(), s.writer, s.reader)
	require.NoError(t, err)
	return saved
}

// HoldSweeper blocks the sweeper until release is called.
func HoldSweeper(t testing.TB, s *Store) (release func()) {
	t.Helper()
	require.NoError(t, s.sweeper.stepping.wait(t.Context()))
	return s.sweeper.stepping.done
}

// AwaitSweeper waits until the sweeper has met damage.
func AwaitSweeper(s *Store) { <-s.sweeper.done }

// SweepStep does a step of a sweep while HoldSweeper holds the sweeper, and reports whether there is more to do.
func SweepStep(t testing.TB, s *Store) (more bool) {
	t.Helper()
	return retryBusy(t, func() (bool, error) { return s.sweeper.stepInTurn(t.Context()) })
}

// Sweep removes all unused texts.
func Sweep(t testing.TB, s *Store) {
	t.Helper()
	for retryBusy(t, func() (bool, error) { return s.sweeper.step(t.Context()) }) {
	}
}

// Slack returns how many pages a sweep would blank.
func Slack(t testing.TB, s *Store) (pages int) {
	t.Helper()
	for group, found := int64(0), true; found; group++ {
		var slack []slackPage
		require.NoError(t, s.reader.view(t.Context(), func(r *reading) (err error) {
			slack, found, err = slackOf(r.ctx, r.tx, group, 4096)
			return err
		}))
		pages += len(slack)
	}
	return pages
}

// retryBusy repeats a step while the compactor reads.
func retryBusy(t testing.TB, step func() (more bool, err error)) bool {
	t.Helper()
	for {
		more, err := step()
		if !errors.Is(err, store.ErrBusy) {
			require.NoError(t, err)
			return more
		}
		runtime.Gosched()
	}
}

// LimitSweep sets the rows that a step of a sweep reads, and the texts that a transaction removes,
// while HoldSweeper holds the sweeper.
func LimitSweep(s *Store, rows, texts int) { s.sweeper.rows, s.sweeper.texts = rows, texts }

// LimitSpace sets how many pages a transaction gives back, and how many may be free, while HoldSweeper
// holds the sweeper.
func LimitSpace(s *Store, given, spare int64) { s.sweeper.given, s.sweeper.spare = given, spare }

// LimitIDs sets the number of IDs of a block, and the number of blocks. Call it before the first event is added.
func LimitIDs(t testing.TB, s *Store, length, blocks int64) {
	t.Helper()
	require.NoError(t, s.writer.write(t.Context(), func(c *connection) error {
		c.intern.new.length, c.intern.new.blocks = length, blocks
		return nil
	}))
}

// StoredPart is a part of a rollup or of a segment.
type StoredPart struct {
	Table string // rollup or packed
	Row   int64
	Part  int
	Data  []byte
}

// StoredParts returns all parts in the file.
func StoredParts(t testing.TB, s *Store) (all []StoredPart) {
	t.Helper()
	require.NoError(t, s.reader.view(t.Context(), func(r *reading) error {
		var p StoredPart
		return eachRow(r.ctx, r.tx, "SELECT 'rollup', rowid, part, data FROM rollup UNION ALL SELECT 'packed', rowid, part, data FROM packed",
			[]any{&p.Table, &p.Row, &p.Part, &p.Data}, func() { all, p.Data = append(all, p), nil })
	}))
	return all
}

// ViewUntilItsEnd calls f with a function that waits until the context of a report has ended.
func ViewUntilItsEnd(t testing.TB, s *Store, f func(wait func())) {
	t.Helper()
	_ = s.reader.view(context.Background(), func(r *reading) error {
		f(func() { <-r.ctx.Done() })
		return nil
	})
}

// OpenWithClock opens a store whose keys expire by a clock that can be set, and another one that cannot.
func OpenWithClock(t testing.TB, cfg Config, wall func() time.Time, elapsed func() time.Duration) *Store {
	t.Helper()
	c := newClock(store.DuplicateFor)
	c.wall, c.elapsed = wall, elapsed
	cfg.keyNow = c.now
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	return s
}
