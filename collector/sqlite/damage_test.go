package sqlite_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// A damaged part of a rollup or a segment may cost time. It costs no figure and no report, and is
// made again.
func TestDamagedPartsCostNoFigureAndAreMadeAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 15))
			log := &lines{}
			s, err := sqlite.OpenWithSegments(t.Context(), sqlite.Config{
				File: filepath.Join(t.TempDir(), "events.db"), Now: midday, Logger: slog.New(slog.NewTextHandler(log, nil)),
			}, 40)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			ref := storetest.NewReference()
			events := storetest.RandomEvents(rng, 400, damageBegin, midday())
			require.NoError(t, sqlite.AddAll(t.Context(), s, events))
			for _, e := range events {
				storetest.Add(t, ref, e)
			}
			sqlite.Settle(t, s)
			whole := sqlite.StoredParts(t, s)
			for range 8 {
				release := sqlite.HoldCompactor(t, s)
				for range 1 + rng.IntN(5) {
					damagePart(t, s, rng, sqlite.StoredParts(t, s))
				}
				storetest.Compare(t, ref, s, store.Query{Site: "s", From: begin, To: end})
				storetest.Compare(t, ref, s, store.Query{Site: "t", From: begin, To: end})
				compareBySegments(t, ref, s)
				release()
				sqlite.Settle(t, s)
				storetest.Compare(t, ref, s, store.Query{Site: "s", From: begin, To: end})
				require.ElementsMatch(t, bytesOf(whole), bytesOf(sqlite.StoredParts(t, s)), "everything is made again as it was")
			}
			assert.Contains(t, log.String(), "were damaged")
			assert.NotContains(t, log.String(), "ERROR")
		})
	}
}

// compareBySegments compares reports about parts of each day, for which rollups are of no use.
func compareBySegments(t *testing.T, want, got store.Store) {
	t.Helper()
	for _, site := range []string{"s", "t"} {
		for day := damageBegin; day.Before(end); day = day.AddDate(0, 0, 1) {
			storetest.Compare(t, want, got, store.Query{Site: site, From: day.Add(time.Millisecond), To: day.AddDate(0, 0, 1).Add(time.Millisecond)})
		}
	}
}

// damageBegin is the first of four days. The last one is open.
var damageBegin = end.AddDate(0, 0, -4)

// damagePart flips bits of a part, cuts it off or removes it.
func damagePart(t *testing.T, s *sqlite.Store, rng *rand.Rand, parts []sqlite.StoredPart) {
	t.Helper()
	part := parts[rng.IntN(len(parts))]
	data := bytes.Clone(part.Data)
	switch rng.IntN(8) {
	case 0:
		data = data[:rng.IntN(len(data))]
	case 1:
		if part.Table == "packed" { // without a part, a day is not rolled up yet
			sqlite.Exec(t, s, "DELETE FROM packed WHERE rowid = ?", part.Row)
			return
		}
		fallthrough
	default:
		for i := range 1 + rng.IntN(4) {
			data[rng.IntN(len(data))] ^= 1 << (i + rng.IntN(5))
		}
	}
	sqlite.Exec(t, s, "UPDATE "+part.Table+" SET data = ? WHERE rowid = ?", data, part.Row)
}

func bytesOf(parts []sqlite.StoredPart) (all []string) {
	for _, part := range parts {
		all = append(all, fmt.Sprintf("%s %d %x", part.Table, part.Part, part.Data))
	}
	return all
}

func TestADamagedPartIsNoErrorOfTheCompactor(t *testing.T) {
	t.Parallel()
	s, err := sqlite.OpenWithSegments(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "events.db"), Now: midday, Logger: silent}, 5)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for i := range 30 {
		e := numbered(i)
		e.At = midday().Add(time.Duration(i-60) * time.Minute)
		storetest.Add(t, s, e)
	}
	sqlite.Settle(t, s)
	sqlite.Exec(t, s, "UPDATE packed SET data = zeroblob(length(data))")
	assert.True(t, sqlite.RollUpWhile(t, s, "s", midday(), func() {}), "from the events")
	assert.EqualValues(t, 30, all(t, s).Events)
	sqlite.Settle(t, s)
	assert.EqualValues(t, 30, all(t, s).Events)
}

// lines is a log, safe for concurrent use.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
