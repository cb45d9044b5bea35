package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// dyingFile makes a test run the part that a kill ends, with this file.
const dyingFile = "FOOTFALL_TEST_DYING_FILE"

// killed runs the calling test in a process that kills itself.
func killed(t *testing.T, file string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), dyingFile+"="+file)
	out, err := cmd.CombinedOutput()
	ended, ok := err.(*exec.ExitError)
	require.True(t, ok, "%v\n%s", err, out)
	require.False(t, ended.Exited(), "it was not killed:\n%s", out)
}

// die is kill -9.
func die(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Kill())
	select {}
}

// The events of secretFile.
const (
	secretEvents = 500
	keptEvents   = 400
)

// secretFile returns the file of a closed store with a site whose every event has its own name, path
// and campaign, and with another site.
func secretFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	var events []store.Event
	for i := range keptEvents {
		events = append(events, store.Event{Site: "kept", At: begin.Add(time.Duration(i)), URL: "https://kept.example/kept-path", Path: "/kept-path", Campaign: "kept-utm"})
	}
	for i := range secretEvents {
		path := fmt.Sprint("/secret-path-", i)
		events = append(events, store.Event{
			Site: "gone", At: begin.Add(time.Duration(i) * time.Minute), Name: fmt.Sprint("secret-name-", i),
			URL: "https://secret.example" + path + fmt.Sprint("?utm_campaign=secret-utm-", i), Path: path, Campaign: fmt.Sprint("secret-utm-", i),
			Referrer: "secret-referrer.example", Props: []store.Prop{{Key: "plan", Value: "secret-plan"}}, Key: fmt.Sprint("secret-key-", i),
		})
	}
	require.NoError(t, sqlite.AddAll(t.Context(), s, events))
	sqlite.Settle(t, s)
	sqlite.Sweep(t, s)
	require.NoError(t, s.Close())
	return file
}

// assertNoSecrets reads the bytes of a store's files.
func assertNoSecrets(t *testing.T, file string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(file + suffix)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for _, secret := range []string{"secret", "gone"} {
			assert.Zero(t, bytes.Count(data, []byte(secret)), "%s in %s", secret, file+suffix)
		}
		assert.Equal(t, suffix == "", bytes.Contains(data, []byte("kept-path")))
	}
}

func TestADeletedSiteLeavesNoTextIfTheProcessIsKilledWhenNoEventIsLeft(t *testing.T) {
	t.Parallel()
	if file := os.Getenv(dyingFile); file != "" {
		s := open(t, file, midday)
		sqlite.HoldSweeper(t, s)
		require.NoError(t, s.Forget(t.Context(), "gone", time.Time{}))
		die(t)
	}
	file := secretFile(t)
	killed(t, file)
	left, err := sqlite.Unswept(t.Context(), file)
	require.NoError(t, err)
	assert.EqualValues(t, 3*secretEvents+3, left, "names, paths, campaigns, referrer, origin and site")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Contains(data, []byte("secret-path-7")), "else nothing is tested")

	s := open(t, file, midday)
	sqlite.Sweep(t, s)
	assertNoSecrets(t, file)
	require.NoError(t, s.Close())
	assertNoSecrets(t, file)
	left, err = sqlite.Unswept(t.Context(), file)
	require.NoError(t, err)
	assert.Zero(t, left)
	assert.NoError(t, sqlite.Check(t.Context(), file))
}

// A process of the next test loads all texts, does two steps, and is killed. When all events are read,
// the first of them finds that.
const (
	stepRows   = 125
	loadsTexts = 1 + (3*secretEvents+3)/stepRows + 1
)

func TestASweepGoesOnWhereAKillEndedIt(t *testing.T) {
	t.Parallel()
	if file := os.Getenv(dyingFile); file != "" {
		s := open(t, file, midday)
		sqlite.HoldSweeper(t, s)
		sqlite.LimitSweep(s, stepRows, stepRows)
		for range loadsTexts + 2 {
			sqlite.SweepStep(t, s)
		}
		die(t)
	}
	file := secretFile(t)
	s := open(t, file, midday)
	sqlite.HoldSweeper(t, s)
	require.NoError(t, s.Forget(t.Context(), "gone", time.Time{}))
	require.NoError(t, s.Close())
	reading, removing := 0, 0
	for left := int64(1); left > 0; {
		was, at := left, placeOf(t, file)
		killed(t, file)
		var err error
		left, err = sqlite.Unswept(t.Context(), file)
		require.NoError(t, err)
		if reading++; placeOf(t, file) == at {
			reading--
			removing++
			require.Less(t, left, was, "process %d did nothing", reading+removing)
		}
	}
	assert.LessOrEqual(t, reading, keptEvents/stepRows/2+1)
	assert.NotZero(t, reading)
	assert.LessOrEqual(t, removing, (3*secretEvents+3)/stepRows+1)
	s = open(t, file, midday)
	sqlite.Sweep(t, s) // blanks the pages
	require.NoError(t, s.Close())
	assertNoSecrets(t, file)
}

// placeOf returns how far the sweep of a file has read.
func placeOf(t *testing.T, file string) (at string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT format('%d %d %d', site, at, seq) FROM sweep").Scan(&at))
	return at
}
