package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// AddAll adds many events in one transaction.
func AddAll(ctx context.Context, s *Store, events []store.Event) error {
	return s.write(ctx, func(w *writer) error {
		for _, e := range events {
			if err := w.add(&e); err != nil {
				return err
			}
		}
		return w.removeStale()
	})
}

// Rollups returns how many days have one.
func Rollups(t testing.TB, s *Store) (days int) {
	t.Helper()
	require.NoError(t, s.reading.QueryRowContext(t.Context(), "SELECT count(*) FROM rollup WHERE part = ?", partTotals).Scan(&days))
	return days
}

// Scalar returns what a query finds.
func Scalar[T any](t testing.TB, s *Store, query string) (value T) {
	t.Helper()
	require.NoError(t, s.reading.QueryRowContext(t.Context(), query).Scan(&value))
	return value
}

// Commits returns the number of the last commit.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Queued returns how many wait for the writer.
func (s *Store) Queued() int { return len(s.queue) }

// Hold keeps the writer busy until release is called.
func Hold(t testing.TB, s *Store) (release func()) {
	held, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.write(context.Background(), func(*writer) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return func() { close(free) }
}

// LimitPages makes the disk as good as full when the file has that many pages.
func LimitPages(t testing.TB, s *Store, pages int) {
	t.Helper()
	require.NoError(t, s.write(t.Context(), func(w *writer) error {
		_, err := w.conn.ExecContext(background, fmt.Sprintf("PRAGMA max_page_count=%d", pages))
		return err
	}))
}

// WriterPragma returns a setting of the writer's connection.
func WriterPragma(t testing.TB, s *Store, name string) (value string) {
	t.Helper()
	require.NoError(t, s.write(t.Context(), func(w *writer) error {
		return w.conn.QueryRowContext(background, "PRAGMA "+name).Scan(&value)
	}))
	return value
}

// RollUpWhile makes the rollup of a day, calls f, and then keeps the rollup if it may.
func RollUpWhile(t testing.TB, s *Store, site string, day time.Time, f func()) {
	t.Helper()
	made, err := s.rollUpDay(t.Context(), site, floorDiv(day.UnixMilli(), msPerDay))
	require.NoError(t, err)
	f()
	require.NoError(t, s.keep(t.Context(), made))
}

// SweepWhile looks for texts that nothing refers to, calls f, and then removes them if
// it may.
func SweepWhile(t testing.TB, s *Store, f func()) {
	t.Helper()
	require.NoError(t, s.note(t.Context(), make(map[int64]struct{})))
	unused, err := s.unused(t.Context())
	require.NoError(t, err)
	f()
	require.NoError(t, s.removeTexts(t.Context(), unused))
	require.NoError(t, s.note(t.Context(), nil))
}

// RemoveEvents leaves texts behind that nothing refers to.
func RemoveEvents(t testing.TB, s *Store) {
	t.Helper()
	require.NoError(t, s.write(t.Context(), func(w *writer) error {
		_, err := w.conn.ExecContext(background, "DELETE FROM event")
		return err
	}))
}
