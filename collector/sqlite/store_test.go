package sqlite_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestStoreKeepsThePromisesOfAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, filepath.Join(t.TempDir(), "events.db"), now)
	})
}

func TestStoreKeepsThePromisesOfAStoreWhenFiguresAreKept(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return kept{openWithSegments(t, filepath.Join(t.TempDir(), "events.db"), now, 20)}
	})
}

// kept is a store that makes all segments and rollups before each report.
type kept struct{ *sqlite.Store }

// settle ignores errors, which the report meets, too.
func (k kept) settle(ctx context.Context) { _ = sqlite.TrySettle(ctx, k.Store) }

func (k kept) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	k.settle(ctx)
	return k.Store.Ask(ctx, q, questions...)
}

func (k kept) Funnel(ctx context.Context, q store.Query, steps []store.Match) (store.Funnel, error) {
	k.settle(ctx)
	return k.Store.Funnel(ctx, q, steps)
}

// openWithSegments opens a store with short segments.
func openWithSegments(t testing.TB, file string, now func() time.Time, length int) *sqlite.Store {
	t.Helper()
	s, err := sqlite.OpenWithSegments(t.Context(), sqlite.Config{File: file, Now: now, Logger: slog.New(complaints{t: t})}, length)
	require.NoError(t, err)
	return s
}

func open(t testing.TB, file string, now func() time.Time) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: now, Logger: slog.New(complaints{t: t})})
	require.NoError(t, err)
	return s
}

var silent = slog.New(slog.DiscardHandler)

// complaints is a log handler that fails the test.
type complaints struct {
	slog.Handler
	t testing.TB
}

func (complaints) Enabled(context.Context, slog.Level) bool { return true }

func (c complaints) Handle(_ context.Context, r slog.Record) error {
	var attrs []string
	r.Attrs(func(a slog.Attr) bool { attrs = append(attrs, a.String()); return true })
	c.t.Error("logged: ", r.Message, attrs)
	return nil
}
