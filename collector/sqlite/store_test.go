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

func open(t testing.TB, file string, now func() time.Time) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: now, Logger: slog.New(complaints{t: t})})
	require.NoError(t, err)
	return s
}

var silent = slog.New(slog.DiscardHandler)

// complaints fails a test in which something is logged.
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
