package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestDamageThatAReadMeetsIsNoted(t *testing.T) {
	t.Parallel()
	q := store.Query{Site: "s", From: begin, To: end}
	for name, c := range map[string]struct {
		statements string
		read       func(*sqlite.Store) error
	}{
		"props of an event": {"UPDATE event SET props = x'08' WHERE seq = 3", func(s *sqlite.Store) error {
			return s.Export(t.Context(), q, func(store.Event) error { return nil })
		}},
		"an event of a day without figures": {"UPDATE event SET props = x'08' WHERE seq = 3; DELETE FROM rollup; DELETE FROM piece; DELETE FROM packed", func(s *sqlite.Store) error {
			require.NoError(t, sqlite.TrySettle(t.Context(), s), "the day is left out")
			return s.Damage()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, file := packed(t)
			require.NoError(t, s.Damage())
			require.NoError(t, s.Close())
			run(t, file, c.statements)
			s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			if sqlite.Segments(t, s) > 0 {
				require.NoError(t, s.Damage())
			}
			require.Error(t, c.read(s))
			sqlite.TryCatchUp(t.Context(), s)
			require.ErrorContains(t, s.Damage(), file)
			require.ErrorContains(t, s.Damage(), "damaged")
			_, err = storetest.Totals(t.Context(), s, store.Query{Site: "s", From: end, To: end.AddDate(0, 0, 1)})
			require.NoError(t, err)
			require.Error(t, s.Damage(), "it stays")
		})
	}
}

// All pages but the first ones are noise.
func TestADamagedPageThatAReadOrWriteMeetsIsNoted(t *testing.T) {
	t.Parallel()
	s, file := packed(t)
	require.NoError(t, s.Close())
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := 4096 * 2; i < len(data); i++ {
		data[i] ^= 0x55
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	require.NoError(t, os.WriteFile(damaged, data, 0o600))
	s, err = sqlite.Open(t.Context(), sqlite.Config{File: damaged, Now: midday, Logger: silent})
	if err != nil {
		require.ErrorContains(t, err, damaged)
		return
	}
	defer func() { _ = s.Close() }()
	_, err = s.Add(t.Context(), numbered(1))
	require.Error(t, err)
	require.ErrorContains(t, s.Damage(), damaged)
}

func TestAnErrorThatIsNoDamageIsNotNoted(t *testing.T) {
	t.Parallel()
	s, _ := packed(t)
	sqlite.LimitPages(t, s, 1)
	e := numbered(1)
	e.Props = []store.Prop{{Key: "k", Value: string(make([]byte, 1<<20))}}
	_, err := s.Add(t.Context(), e)
	require.Error(t, err, "the disk is full")
	assert.NoError(t, s.Damage())
	require.NoError(t, s.Close())
	_, err = storetest.Totals(t.Context(), s, store.Query{Site: "s", From: begin, To: end})
	require.ErrorIs(t, err, store.ErrClosed)
	assert.NoError(t, s.Damage())
}
