package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// TestMain runs the command itself if the environment asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("FOOTFALL_TEST_AS_COMMAND") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func noEnv(string) string { return "" }

// service is a running service.
type service struct {
	url     string
	setup   string // link, if one was printed
	metrics string // URL, if one was printed
	stop    func() error
}

// output is the standard output of a command, which a test reads while the command runs.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	return len(p), nil
}

// after returns the rest of the first line that contains label, or "".
func (o *output) after(label string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, rest, _ := strings.Cut(string(o.text), label)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// start runs the command until it answers requests.
func start(t *testing.T, args ...string) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := new(output), make(chan error, 1)
	go func() { ended <- run(ctx, args, noEnv, out, io.Discard) }()
	c := &service{stop: func() error { cancel(); return <-ended }}
	require.Eventually(t, func() bool { return out.after("Data directory: ") != "" || len(ended) > 0 }, time.Minute, time.Millisecond)
	if len(ended) > 0 {
		require.NoError(t, <-ended)
	}
	c.url = out.after("Footfall serves ")
	response, err := http.Get(c.url + "/healthz") // it is answered after the link is printed
	require.NoError(t, err)
	response.Body.Close()
	c.setup, c.metrics = out.after("open this link: "), out.after("Metrics: ")
	return c
}

// withSite creates a file with a site, a key and a password.
func withSite(t *testing.T, dir string) (site, key string) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(dir, "footfall.db")})
	require.NoError(t, err)
	acc, err := account.Open(t.Context(), st)
	require.NoError(t, err)
	s, err := acc.AddSite(t.Context(), "", "shop.example.com")
	require.NoError(t, err)
	key, _, err = acc.IssueKey(t.Context(), "test")
	require.NoError(t, err)
	require.NoError(t, acc.SetUp(t.Context(), acc.SetupToken(), "correct horse battery"))
	require.NoError(t, st.Close())
	return s.ID, key
}

func (c *service) post(t *testing.T, site, key string) {
	t.Helper()
	require.Equal(t, 202, c.try(t, site, key))
}

// try posts an event and returns the status of the answer.
func (c *service) try(t *testing.T, site, key string) int {
	t.Helper()
	return c.tryWith(t, site, key, "signup", "")
}

func (c *service) tryWith(t *testing.T, site, key, name, idempotencyKey string) int {
	t.Helper()
	body := `{"site_id":"` + site + `","name":"` + name + `","url":"https://shop.example.com/"}`
	r, err := http.NewRequest("POST", c.url+"/v1/events", strings.NewReader(body))
	require.NoError(t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
	if idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	response.Body.Close()
	return response.StatusCode
}

func eventsIn(t *testing.T, file, site string) int64 {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.NoError(t, err)
	defer st.Close()
	totals, err := storetest.Totals(t.Context(), st, store.Query{Site: site, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	return totals.Events
}

func TestFirstStartPrintsASetupLinkThatWorks(t *testing.T) {
	t.Parallel()
	c := start(t, "-listen", "127.0.0.1:0", "-data", t.TempDir())
	assert.Regexp(t, regexp.MustCompile(`^http://127\.0\.0\.1:\d+/setup\?token=.+`), c.setup)
	response, err := http.Get(c.setup)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, 200, response.StatusCode)
	assert.NoError(t, c.stop())
}

func TestEventsSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, key := withSite(t, dir)
	for range 2 {
		c := start(t, "-listen", "127.0.0.1:0", "-data", dir)
		assert.Empty(t, c.setup, "there is a password")
		c.post(t, site, key)
		require.NoError(t, c.stop())
	}
	assert.EqualValues(t, 2, eventsIn(t, filepath.Join(dir, "footfall.db"), site))
}

// saved is a running collector with one event, and a backup of its data.
type saved struct {
	*service
	dir, file, backup string // the data directory, its file, and the backup
	site, key         string
}

func backedUp(t *testing.T) saved {
	t.Helper()
	s := saved{dir: t.TempDir(), backup: filepath.Join(t.TempDir(), "backup.db")}
	s.file = filepath.Join(s.dir, "footfall.db")
	s.site, s.key = withSite(t, s.dir)
	s.service = start(t, "-listen", "127.0.0.1:0", "-data", s.dir)
	s.post(t, s.site, s.key)
	require.NoError(t, run(t.Context(), []string{"-data", s.dir, "-backup", s.backup}, noEnv, io.Discard, io.Discard))
	return s
}

func TestBackupIsWrittenWhileTheCollectorRuns(t *testing.T) {
	t.Parallel()
	s := backedUp(t)
	s.post(t, s.site, s.key)
	require.NoError(t, s.stop())
	assert.EqualValues(t, 1, eventsIn(t, s.backup, s.site))
	assert.EqualValues(t, 2, eventsIn(t, s.file, s.site))
}

func TestBackupToAFileThatExistsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := backedUp(t)
	before, err := os.ReadFile(s.backup)
	require.NoError(t, err)
	err = run(t.Context(), []string{"backup", "-data", s.dir, s.backup}, noEnv, io.Discard, io.Discard)
	require.ErrorIs(t, err, os.ErrExist)
	assert.ErrorContains(t, err, s.backup)
	assert.ErrorContains(t, err, "choose the name of a new file, such as one with the date and the time, or remove this one")
	assert.Equal(t, 1, status(err))
	after, err := os.ReadFile(s.backup)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	require.NoError(t, s.stop())
}

func TestRestorePutsABackupInThePlaceOfTheData(t *testing.T) {
	t.Parallel()
	s := backedUp(t)
	s.post(t, s.site, s.key)
	err := run(t.Context(), []string{"restore", "-data", s.dir, s.backup}, noEnv, io.Discard, io.Discard)
	require.ErrorContains(t, err, "in use by a running service; stop it first")
	require.NoError(t, s.stop())

	for _, args := range [][]string{{"restore", "-data", s.dir, s.backup}, {"-data", s.dir, "restore", s.backup}, {"restore", s.backup, "-data", s.dir}} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), args, noEnv, &out, io.Discard))
		assert.Contains(t, out.String(), "Restored "+s.file+"\nKept the old data as "+s.file+".replaced-")
		assert.Contains(t, out.String(), "\nDelete the old data when you do not need it: it has the salt of its last day's visitors.\n")
		assert.EqualValues(t, 1, eventsIn(t, s.file, s.site))
	}
	kept, err := filepath.Glob(s.file + ".replaced-*")
	require.NoError(t, err)
	require.Len(t, kept, 3)
	assert.EqualValues(t, 2, eventsIn(t, slices.Min(kept), s.site))
}

func TestRestoreNeedsOneFile(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"restore"}, {"restore", "a", "b"}, {"-data", "d", "restore"}} {
		_, err := parseOptions(args, noEnv, io.Discard)
		assert.EqualError(t, err, "restore needs the file of a backup: footfall-collector restore FILE", "%q", args)
	}
}

// A backup may be kept for years. With the day's salt in it, visitors could be identified by
// their addresses.
func TestBackupHasNoSaltInIt(t *testing.T) {
	t.Parallel()
	s := backedUp(t)
	require.NoError(t, s.stop())

	st, err := sqlite.Open(t.Context(), sqlite.Config{File: s.file})
	require.NoError(t, err)
	defer st.Close()
	salts, err := st.Records(t.Context(), collector.DayRecords[0])
	require.NoError(t, err)
	require.Len(t, salts, 1, "it was there to be copied")
	files, err := os.ReadDir(filepath.Dir(s.backup))
	require.NoError(t, err)
	require.Len(t, files, 1)
	copied, err := os.ReadFile(s.backup)
	require.NoError(t, err)
	assert.False(t, bytes.Contains(copied, salts[0].Data))
	assert.EqualValues(t, 1, eventsIn(t, s.backup, s.site))
}

func TestBackupOfNothingIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := run(t.Context(), []string{"-data", dir, "-backup", filepath.Join(dir, "b.db")}, noEnv, io.Discard, io.Discard)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.NoFileExists(t, filepath.Join(dir, "footfall.db"))
}

func TestSignalsEndItGracefully(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows sends no such signals")
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		var log bytes.Buffer
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "FOOTFALL_TEST_AS_COMMAND=1", "FOOTFALL_LISTEN=127.0.0.1:0", "FOOTFALL_DATA="+t.TempDir())
		cmd.Stderr = &log
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewReader(out)
		for text := ""; !strings.Contains(text, "open this link: "); {
			text, err = lines.ReadString('\n')
			require.NoError(t, err, "%s", &log)
		}
		require.NoError(t, cmd.Process.Signal(signal))
		rest, _ := io.ReadAll(lines)
		assert.Contains(t, string(rest), "a second signal, such as Ctrl+C, stops it now", "it may be the line of a log")
		assert.NoError(t, cmd.Wait(), "%s", &log)
		assert.Empty(t, log.String())
	}
}

func TestItServesLoopbackByDefault(t *testing.T) {
	t.Parallel()
	opts, err := parseOptions(nil, noEnv, io.Discard)
	require.NoError(t, err)
	addr, err := netip.ParseAddrPort(opts.listen)
	require.NoError(t, err)
	assert.True(t, addr.Addr().IsLoopback())
	assert.True(t, filepath.IsAbs(opts.data) || opts.data == "footfall-data")
}

func TestOptionsComeFromFlagsAndThenTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"FOOTFALL_LISTEN": ":1", "FOOTFALL_DATA": "d", "FOOTFALL_PUBLIC_URL": "https://a.example",
		"FOOTFALL_TRUSTED_PROXIES": "10.0.0.7/8, ::1", "FOOTFALL_RETENTION": "90d", "FOOTFALL_KEY_RATE": "0.5", "FOOTFALL_MAX_CONNECTIONS": "100",
		"FOOTFALL_IDEMPOTENCY_WINDOW": "7d",
	}
	opts, err := parseOptions([]string{"-listen", ":2"}, func(name string) string { return env[name] }, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, options{
		command: find("serve"), listen: ":2", data: "d", publicURL: "https://a.example", retention: 90 * 24 * time.Hour, keyRate: 0.5, window: 168 * time.Hour, conns: 100,
		proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}, opts)
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-retention", "0d"}, {"-retention", "-1h"}, {"-retention", "soon"}, {"-retention", "99999d"}, {"-trusted-proxies", "proxy"}, {"-max-connections", "0"}, {"-max-connections", "-1"}, {"-max-connections", "many"}, {"-key-rate", "0"}, {"-key-rate", "-2"}, {"-key-rate", "NaN"}, {"-key-rate", "fast"},
		{"-unknown"}, {"argument"}, {"-listen", "nowhere:-1", "-data", t.TempDir()},
		{"-public-url", "stats.example.com", "-listen", "127.0.0.1:0", "-data", t.TempDir()},
	} {
		assert.Error(t, run(t.Context(), args, noEnv, io.Discard, io.Discard), "%q", args)
	}
}

func TestIdempotencyWindowIsFromAMinuteTo30Days(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "1m": time.Minute, "72h": 72 * time.Hour, "7d": 168 * time.Hour, "30d": 720 * time.Hour, "720h": 720 * time.Hour,
	} {
		opts, err := parseOptions([]string{"-idempotency-window", text}, noEnv, io.Discard)
		require.NoError(t, err, text)
		assert.Equal(t, want, opts.window, text)
	}
	for _, text := range []string{"0", "0d", "59s", "31d", "720h1s", "-1h", "72", "soon", "99999999999999999999d"} {
		_, err := parseOptions([]string{"-idempotency-window", text}, noEnv, io.Discard)
		assert.EqualError(t, err, `-idempotency-window or FOOTFALL_IDEMPOTENCY_WINDOW: "`+text+`" is not a duration from 1m to 30d, such as 72h or 7d`)
	}
}

// The key is stored with the age that it has when the collector starts.
func TestIdempotencyWindowIsPassedToTheStore(t *testing.T) {
	t.Parallel()
	for window, want := range map[string]int64{"72h": 1, "": 2} {
		dir := t.TempDir()
		file := filepath.Join(dir, "footfall.db")
		site, key := withSite(t, dir)
		then := func() time.Time { return time.Now().Add(-30 * time.Hour) }
		st, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: then})
		require.NoError(t, err)
		storetest.Add(t, st, store.Event{Site: site, At: time.Now(), Name: "signup", URL: "https://shop.example.com/", Path: "/", Key: "k"})
		require.NoError(t, st.Close())
		c := start(t, "-listen", "127.0.0.1:0", "-data", dir, "-idempotency-window", window)
		assert.Equal(t, 202, c.tryWith(t, site, key, "signup", "k"))
		require.NoError(t, c.stop())
		assert.Equal(t, want, eventsIn(t, file, site), window)
	}
}

func TestHelpIsForNewUsers(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	err := run(t.Context(), []string{"-h"}, noEnv, &out, &log)
	assert.ErrorIs(t, err, flag.ErrHelp, "main treats it as success")
	assert.Empty(t, log.String())
	for _, text := range []string{
		"website analytics service", "link that sets the password", "\n  footfall-collector backup FILE    write a copy", "\n  -backup file\n",
		"-listen address\n", "FOOTFALL_LISTEN (default \"127.0.0.1:8090\")", "by default 50000\n    \tFOOTFALL_KEY_RATE",
	} {
		assert.Contains(t, out.String(), text)
	}
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 100, line)
	}
	for _, args := range [][]string{{"-unknown"}, {"argument"}} {
		assert.ErrorContains(t, run(t.Context(), args, noEnv, &log, &log), "-help lists the options")
	}
	assert.Empty(t, log.String(), "an error is said once, by main")
}

func TestHelpHasTheDefaultOfTheKeyRate(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, _ = parseOptions([]string{"-h"}, noEnv, &out)
	source, err := os.ReadFile("../../config.go")
	require.NoError(t, err)
	assert.Contains(t, string(source), "Defaults to 50,000.\n\tKeyRate")
	assert.Contains(t, out.String(), "by default 50000")
}

func TestErrorOfATakenAddressSaysWhatToDo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	err = run(t.Context(), []string{"-listen", taken.Addr().String(), "-data", t.TempDir()}, noEnv, io.Discard, io.Discard)
	assert.ErrorContains(t, err, "choose another address with -listen")
	assert.Equal(t, 1, status(err))
}

func TestKeyRateIsPassedToTheCollector(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, key := withSite(t, dir)
	c := start(t, "-listen", "127.0.0.1:0", "-data", dir, "-key-rate", "0.01")
	c.post(t, site, key)
	assert.Equal(t, 429, c.try(t, site, key))
	require.NoError(t, c.stop())
}

func TestAdviceIsPrintedWhenServingOtherMachines(t *testing.T) {
	t.Parallel()
	here, all := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv6zero}
	assert.Empty(t, advice(&options{}, here))
	assert.Regexp(t, "plain text", advice(&options{}, all))
	secure := options{publicURL: "https://stats.example.com"}
	assert.Regexp(t, "^.No proxy is trusted.*$", advice(&secure, all))
	secure.proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	assert.Empty(t, advice(&secure, all))
	assert.Empty(t, advice(&secure, here))
}

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-version"}, noEnv, &out, io.Discard))
	assert.Regexp(t, `^footfall-collector [^\s()]+\n$`, out.String(), "it is devel in a checkout, as of the command footfall")
}

func TestPrintedAddressCanBeOpened(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "localhost:8090", browsable(&net.TCPAddr{IP: net.IPv6zero, Port: 8090}))
	assert.Equal(t, "127.0.0.1:8090", browsable(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8090}))
}

func TestHealthOfTheCommand(t *testing.T) {
	t.Parallel()
	c := start(t, "-listen", "127.0.0.1:0", "-data", t.TempDir())
	response, err := http.Get(c.url + "/healthz")
	require.NoError(t, err)
	defer response.Body.Close()
	var health struct{ Status string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&health))
	assert.Equal(t, "ok", health.Status)
	require.NoError(t, c.stop())
}

// Another program holds the lock of the data, so that the service cannot open it.
func TestItAnswersWhileTheDataIsOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, key := withSite(t, dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "footfall.db"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())

	started := make(chan *service, 1)
	go func() { started <- start(t, "-listen", address, "-data", dir) }()
	c := &service{url: "http://" + address}
	require.Eventually(t, func() bool {
		response, err := http.Get(c.url + "/livez")
		if err == nil {
			response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	}, 10*time.Second, time.Millisecond)
	assert.Equal(t, 503, c.try(t, site, key))
	response, err := http.Get(c.url + "/")
	require.NoError(t, err)
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Contains(t, string(page), "the data is being opened. This page reloads itself.")

	_, err = db.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	c = <-started
	c.post(t, site, key)
	require.NoError(t, c.stop())
}
