package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestOpenMakesDirectoryAndFilesForTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "of the collector")
	s := open(t, filepath.Join(dir, "events.db"), nil)
	defer func() { require.NoError(t, s.Close()) }()
	storetest.Add(t, s, numbered(1))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 5, "the database, its lock, its log, the log's index and its owner")
	for _, file := range files {
		info, err := file.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file.Name())
	}
}

func TestCloseRemovesTheLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, nil)
	storetest.Add(t, s, numbered(1))
	assert.FileExists(t, file+"-wal")
	require.NoError(t, s.Close())
	for _, suffix := range []string{"-wal", "-shm"} { // which SQLite removes with the last connection
		assert.NoFileExists(t, file+suffix)
	}
}

func TestCloseRemovesTheLogBeneathReadsInProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 50 {
		file := filepath.Join(dir, strconv.Itoa(round))
		s := open(t, file, nil)
		storetest.Add(t, s, numbered(1))
		var reads sync.WaitGroup
		for i := range 4 {
			reads.Go(func() {
				for err := error(nil); !errors.Is(err, store.ErrClosed); {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
					_, err = storetest.Totals(ctx, s, store.Query{Site: "s", From: begin, To: end})
					cancel()
					if err != nil && !errors.Is(err, store.ErrClosed) {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					}
				}
			})
		}
		time.Sleep(time.Duration(round) * 100 * time.Microsecond)
		require.NoError(t, s.Close())
		for _, suffix := range []string{"-wal", "-shm"} {
			assert.NoFileExists(t, file+suffix, "round %d", round)
		}
		reads.Wait()
	}
}

func TestTheNameOfAFileMayHoldAnyCharacter(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a?mode=memory", "a#b", "a%20b", "a&b=c", "ü", "'", "file:x", `a\b`, "a;b"} {
		file := filepath.Join(t.TempDir(), name)
		s := open(t, file, nil)
		_, err := s.Add(t.Context(), numbered(1))
		require.NoError(t, err, name)
		require.NoError(t, s.Backup(t.Context(), file+".backup"), name)
		require.NoError(t, s.Close())
		info, err := os.Stat(file)
		require.NoError(t, err, name)
		assert.NotZero(t, info.Size(), name)
	}
}

func TestWhatWasAddedIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	for round := range 3 {
		s := open(t, file, midday)
		e := numbered(7)
		e.Key = "once"
		storetest.Add(t, s, e)
		storetest.Add(t, s, numbered(round))
		require.NoError(t, s.Put(t.Context(), "site", store.Record{ID: fmt.Sprint(round), Data: []byte("x")}))
		assert.EqualValues(t, round+2, all(t, s).Events)
		records, err := s.Records(t.Context(), "site")
		require.NoError(t, err)
		assert.Len(t, records, round+1)
		require.NoError(t, s.Close())
	}
}

func TestABackupIsAStoreOfTheSameEvents(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 100 {
		storetest.Add(t, s, numbered(i))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 100; ; i++ {
			select {
			case <-stop:
				return
			default:
				storetest.Add(t, s, numbered(i))
			}
		}
	}()
	file := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, s.Backup(t.Context(), file))
	close(stop)
	<-stopped
	backup := open(t, file, midday)
	defer func() { require.NoError(t, backup.Close()) }()
	assert.GreaterOrEqual(t, all(t, backup).Events, int64(100))
	storetest.Add(t, backup, numbered(1))
}

func TestOpenRefusesAFileOfOthersAndLeavesItAsItIs(t *testing.T) {
	t.Parallel()
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE theirs (x)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	text := filepath.Join(t.TempDir(), "text.db")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("Dear diary, "), 500), 0o600))
	for _, file := range []string{foreign, text} {
		before, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = sqlite.Open(t.Context(), sqlite.Config{File: file})
		require.ErrorContains(t, err, file)
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, before, after)
	}
}

func TestOpenRefusesAFileOfANewerVersion(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	require.NoError(t, open(t, file, nil).Close())
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "PRAGMA user_version=99")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.ErrorContains(t, err, file)
	assert.ErrorContains(t, err, "newer version")
}

func TestOpenRefusesAFileWhoseVersionIsNegative(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	require.NoError(t, open(t, file, nil).Close())
	run(t, file, "PRAGMA user_version=-1")
	_, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.ErrorContains(t, err, file+": not a database of the service")
}

func TestAFileHasOneWriterAtATime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, nil)
	_, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.ErrorContains(t, err, file)
	require.ErrorContains(t, err, "in use")
	require.NoError(t, sqlite.Backup(t.Context(), file, file+".backup"), "it may be copied all the same")
	storetest.Add(t, s, numbered(1))
	require.NoError(t, s.Close())
	require.NoError(t, open(t, file, nil).Close())
}

func TestACommitIsSynced(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	assert.Equal(t, "2", sqlite.WriterPragma(t, s, "synchronous"), "FULL")
	assert.Equal(t, "wal", sqlite.WriterPragma(t, s, "journal_mode"))
}

func TestOpenRequiresAFileThatCanBeMade(t *testing.T) {
	t.Parallel()
	_, err := sqlite.Open(t.Context(), sqlite.Config{})
	require.ErrorContains(t, err, "Config.File")
	taken := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	_, err = sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(taken, "events.db")})
	require.ErrorContains(t, err, taken)
}

// A file may be damaged anywhere. No damage may cause a panic, and errors must name the file.
func TestADamagedFileIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "events.db")
	s := open(t, file, midday)
	rng := rand.New(rand.NewPCG(1, 1))
	for day := range 3 {
		for i := range 300 {
			e := benchEvent(rng, begin.AddDate(0, 0, day))
			e.Name = fmt.Sprint(i % 40)
			require.NoError(t, sqlite.AddAll(t.Context(), s, []store.Event{e}))
		}
	}
	sqlite.Settle(t, s)
	require.Equal(t, 3, sqlite.Rollups(t, s))
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	failed := 0
	for round := range 150 {
		damaged := bytes.Clone(whole)
		for range 1 + rng.IntN(30) {
			damaged[rng.IntN(len(damaged))] = byte(rng.UintN(256))
		}
		if round%5 == 0 {
			damaged = damaged[:rng.IntN(len(damaged))]
		}
		file := filepath.Join(dir, fmt.Sprint("damaged", round))
		require.NoError(t, os.WriteFile(file, damaged, 0o600))
		for _, err := range useDamaged(t, file) {
			if err != nil {
				failed++
				assert.ErrorContains(t, err, file)
			}
		}
	}
	assert.NotZero(t, failed)
}

func useDamaged(t *testing.T, file string) []error {
	s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent})
	if err != nil {
		return []error{err}
	}
	_ = sqlite.TrySettle(t.Context(), s) // logged
	_, err = s.Add(t.Context(), numbered(1))
	errs := append(reports(t, s), err, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 1)))
	_ = s.Close()
	return errs
}

// reports requests all reports and returns their errors.
func reports(t *testing.T, s store.Store) (errs []error) {
	for _, r := range benchReports {
		errs = append(errs, r.ask(t.Context(), s, store.Query{Site: "s", From: begin, To: end}))
	}
	return errs
}

// A report may still use its connection when its context has ended and database/sql has rolled its
// transaction back.
func TestCloseWaitsForReportsThatEnd(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "events.db"), nil)
	storetest.Add(t, s, numbered(1))
	began, closed, ended := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	go func() {
		sqlite.ViewUntilItsEnd(t, s, func(wait func()) {
			close(began)
			wait()
			select {
			case <-closed:
				ended <- false
			case <-time.After(100 * time.Millisecond): // what Close would have needed
				ended <- true
			}
		})
	}()
	<-began
	require.NoError(t, s.Close())
	close(closed)
	assert.True(t, <-ended, "the file was closed beneath a report")
}
