package main

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestEachCommandExplainsItself(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-help"}, noEnv, &all, io.Discard), flag.ErrHelp)
	for _, c := range commands {
		var out bytes.Buffer
		assert.ErrorIs(t, run(t.Context(), []string{c.name, "-help"}, noEnv, &out, io.Discard), flag.ErrHelp)
		text := out.String()
		assert.True(t, strings.HasPrefix(text, "Usage: "+c.usage()), text)
		assert.Contains(t, text, c.about)
		assert.Equal(t, c.name != "version", strings.Contains(text, "\n  -data directory\n"), text)
		assert.Equal(t, c.name == "serve", strings.Contains(text, "\n  -listen address\n"), text)
		assert.Contains(t, all.String(), "\n  "+c.usage(), "-help lists it")
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 100, line)
		}
	}
}

func TestOptionsGoBeforeAndAfterACommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"backup", "-data", "d", "b.db"}, {"backup", "b.db", "-data", "d"}, {"-data", "d", "backup", "b.db"}, {"-data", "d", "-backup", "b.db"},
	} {
		o, err := parseOptions(args, noEnv, io.Discard)
		require.NoError(t, err, "%q", args)
		assert.Equal(t, options{command: find("backup"), data: "d", file: "b.db"}, options{command: o.command, data: o.data, file: o.file}, "%q", args)
	}
	o, err := parseOptions([]string{"-data", "d", "serve", "-listen", ":1"}, noEnv, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "serve d :1", o.command.name+" "+o.data+" "+o.listen)
}

func TestAWrongCommandLineSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"start":            `there is no command "start"; -help lists the options and the commands`,
		"-data d start":    `there is no command "start"; -help lists the options and the commands`,
		"serve now":        "serve takes no arguments: footfall-collector serve",
		"backup":           "backup needs the name of a new file: footfall-collector backup FILE",
		"check a b":        "check takes one file at most: footfall-collector check [FILE]",
		"version 1":        "version takes no arguments: footfall-collector version",
		"-liste :1":        "flag provided but not defined: -liste; -help lists the options",
		"check -listen :1": "flag provided but not defined: -listen; footfall-collector check -help lists the options",
		"backup -backup a": "flag provided but not defined: -backup; footfall-collector backup -help lists the options",
		"serve -key-rate ": "flag needs an argument: -key-rate; footfall-collector serve -help lists the options",
	} {
		_, err := parseOptions(strings.Fields(line), noEnv, io.Discard)
		assert.EqualError(t, err, want, line)
		assert.Equal(t, 2, status(err), line)
	}
}

func TestBackupIgnoresOptionsOfTheServiceInTheEnvironment(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"FOOTFALL_RETENTION": "soon"}[name] }
	_, err := parseOptions([]string{"backup", "b.db"}, env, io.Discard)
	require.NoError(t, err)
	_, err = parseOptions(nil, env, io.Discard)
	assert.Equal(t, 2, status(err))
}

// withDamagedSegment returns a file whose precomputed data is damaged. No store of this test makes
// segments, so the damaged segment is one without parts.
func withDamagedSegment(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	withSite(t, dir)
	file = filepath.Join(dir, "footfall.db")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO piece (site, first, until) VALUES (1, 0, 1)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return file
}

// Serve refuses to start if it cannot read a site, so check reports it, and restore keeps the data.
func TestCheckAndRestoreReadTheSettings(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	withSite(t, dir)
	withSite(t, other)
	damaged := filepath.Join(dir, "footfall.db")
	db, err := sql.Open("sqlite", damaged)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE record SET data = x'7b' WHERE kind = 'site'")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	for _, args := range [][]string{{"check", "-data", dir}, {"serve", "-listen", "127.0.0.1:0", "-data", dir}, {"restore", "-data", other, damaged}} {
		err := run(t.Context(), args, noEnv, io.Discard, io.Discard)
		assert.ErrorContains(t, err, `account: site "site_`, "%q", args)
	}
	assert.NoError(t, run(t.Context(), []string{"check", "-data", other}, noEnv, io.Discard, io.Discard), "it is as it was")
}

// A backup may be older than the end of a session, such as by a new password.
func TestRestoreEndsSessionsAndKeepsKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, backup := filepath.Join(dir, "footfall.db"), filepath.Join(dir, "backup.db")
	opened := func() (*account.Account, func()) {
		st, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
		require.NoError(t, err)
		a, err := account.Open(t.Context(), st)
		require.NoError(t, err)
		return a, func() { require.NoError(t, st.Close()) }
	}
	a, stop := opened()
	require.NoError(t, a.SetUp(t.Context(), a.SetupToken(), "a long password"))
	token, _, err := a.SignIn(t.Context(), "a long password")
	require.NoError(t, err)
	secret, k, err := a.IssueKey(t.Context(), "server")
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), []string{"backup", "-data", dir, backup}, noEnv, io.Discard, io.Discard))
	require.NoError(t, a.SignOut(t.Context(), token))
	require.NoError(t, a.RevokeKey(t.Context(), k.ID))
	stop()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"restore", "-data", dir, backup}, noEnv, &out, io.Discard))
	assert.Contains(t, out.String(), "revoke the keys that were revoked since. All sessions have ended.")
	a, stop = opened()
	defer stop()
	assert.False(t, a.SignedIn(token))
	assert.True(t, a.Authenticate(secret), "as the documents say")
	_, _, err = a.SignIn(t.Context(), "a long password")
	assert.NoError(t, err)
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withSite(t, dir)
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	data, err := os.ReadFile(filepath.Join(dir, "footfall.db"))
	require.NoError(t, err)
	clear(data[len(data)/2:])
	require.NoError(t, os.WriteFile(damaged, data, 0o600))
	repairable := withDamagedSegment(t)
	for line, want := range map[string]int{
		"check " + repairable: 3, "check -data " + filepath.Dir(repairable): 3,
		"-help": 0, "check -help": 0, "version": 0, "-version": 0, "check -data " + dir: 0,
		"check " + damaged: 1, "check " + damaged + ".missing": 1, "backup " + damaged: 1,
		"check a b": 2, "-unknown": 2, "start": 2, "-retention soon": 2, "-listen bad": 2, "-public-url foo": 2,
		"help": 0, "help backup": 0, "help start": 2,
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(line)...)
		cmd.Env = append(os.Environ(), "FOOTFALL_TEST_AS_COMMAND=1")
		out, err := cmd.CombinedOutput()
		got := 0
		if exit, failed := errors.AsType[*exec.ExitError](err); failed {
			got, err = exit.ExitCode(), nil
		}
		require.NoError(t, err)
		assert.Equal(t, want, got, "%s: %s", line, out)
		assert.Equal(t, want != 0, strings.HasPrefix(string(out), "footfall-collector: "), "%s: %s", line, out)
	}
}

func TestCheckReadsTheDataAndBackups(t *testing.T) {
	t.Parallel()
	s := backedUp(t)
	for _, args := range [][]string{{"check", "-data", s.dir}, {"check", s.backup}, {"-data", "nowhere", "check", s.backup}} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), args, noEnv, &out, io.Discard), "%q", args)
		assert.Regexp(t, `^No damage found in .+\.db\n$`, out.String())
	}
	require.NoError(t, s.stop())
}

func TestWrongAddressesAreRefusedBeforeTheDataIsOpened(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"-public-url foo":         `-public-url or FOOTFALL_PUBLIC_URL: "foo" is not an http or https URL without a path, such as https://stats.example.com`,
		"-public-url https://x/y": `-public-url or FOOTFALL_PUBLIC_URL: "https://x/y" is not an http or https URL without a path, such as https://stats.example.com`,
		"-public-url ftp://x":     `-public-url or FOOTFALL_PUBLIC_URL: "ftp://x" is not an http or https URL without a path, such as https://stats.example.com`,
		"-listen bad":             `-listen or FOOTFALL_LISTEN: "bad" is not an address such as 127.0.0.1:8090 or :8090`,
		"-listen 127.0.0.1:99999": `-listen or FOOTFALL_LISTEN: "127.0.0.1:99999" is not an address such as 127.0.0.1:8090 or :8090`,
		"-metrics nonsense":       `-metrics or FOOTFALL_METRICS: "nonsense" is not an address such as 127.0.0.1:8090 or :8090`,
	} {
		for _, command := range []string{"", "serve "} {
			dir := filepath.Join(t.TempDir(), "data")
			err := run(t.Context(), strings.Fields(command+line+" -data "+dir), noEnv, io.Discard, io.Discard)
			require.EqualError(t, err, want)
			assert.Equal(t, 2, status(err), line)
			assert.NoDirExists(t, dir)
		}
	}
	for _, line := range []string{
		"-public-url https://x/", "-public-url http://[::1]:8090", "-listen :0", "-listen localhost:http", "-metrics [::1]:9090",
	} {
		_, err := parseOptions(strings.Fields(line), noEnv, io.Discard)
		assert.NoError(t, err, line)
	}
}

func TestHelpIsACommandToo(t *testing.T) {
	t.Parallel()
	for line, same := range map[string]string{"help": "-help", "help backup": "backup -help", "-data d help": "-help"} {
		var got, want bytes.Buffer
		assert.ErrorIs(t, run(t.Context(), strings.Fields(line), noEnv, &got, io.Discard), flag.ErrHelp)
		assert.ErrorIs(t, run(t.Context(), strings.Fields(same), noEnv, &want, io.Discard), flag.ErrHelp)
		assert.NotEmpty(t, got.String())
		if line != "-data d help" {
			assert.Equal(t, want.String(), got.String(), line)
		}
	}
}

func TestBackupPrintsItsFileAndSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withSite(t, dir)
	file := filepath.Join(dir, "backup.db")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"backup", "-data", dir, file}, noEnv, &out, io.Discard))
	written, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("Wrote %s, %d bytes\n", file, written.Size()), out.String())
}

func TestCommandsOfADirectoryWithoutDataNameTheOption(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nosuch")
	for _, args := range [][]string{{"backup", "-data", dir, dir + ".db"}, {"check", "-data", dir}} {
		var out bytes.Buffer
		err := run(t.Context(), args, noEnv, &out, io.Discard)
		require.ErrorIs(t, err, fs.ErrNotExist, args)
		assert.ErrorContains(t, err, "-data or FOOTFALL_DATA: there is no data in this directory: stat "+dir, args)
		assert.Empty(t, out.String())
		assert.NoFileExists(t, dir+".db")
		assert.NoDirExists(t, dir)
	}
}

func TestCheckFindsTheEventsOfALostSite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, _ := withSite(t, dir)
	add := func(id string) {
		st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(dir, "footfall.db")})
		require.NoError(t, err)
		storetest.Add(t, st, store.Event{Site: id, At: time.Now(), Name: "signup", URL: "https://shop.example.com/", Path: "/"})
		require.NoError(t, st.Close())
	}
	check := func() error { return run(t.Context(), []string{"check", "-data", dir}, noEnv, io.Discard, io.Discard) }
	add(site)
	require.NoError(t, check())
	add("site_lost")
	err := check()
	require.ErrorContains(t, err, "has events of the site site_lost, which does not exist")
	assert.Equal(t, 1, status(err))
}

// A service that was killed may not have removed the texts of a deleted site yet.
func TestCheckSaysHowManyTextsOfRemovedEventsAreLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withSite(t, dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "footfall.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO text (value) VALUES ('/secret'), ('secret'); INSERT INTO unswept SELECT id, 1 FROM text")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"check", "-data", dir}, noEnv, &out, io.Discard))
	assert.Regexp(t, `^No damage found in .+\nTexts of removed events, such as paths: 2 are still in the file. The service removes them while it runs.\n$`, out.String())
}
