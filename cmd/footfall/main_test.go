package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/footfalltest"
)

// binary is the built program.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "footfall")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "footfall.exe")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // tests wait for processes more than they compute
	return m.Run()
}

// result is what a run printed, and its exit status.
type result struct {
	out, err string
	status   int
}

// env is the environment of a run, besides PATH.
type env map[string]string

func envOf(url string) env {
	return env{"FOOTFALL_BASE_URL": url, "FOOTFALL_API_KEY": footfalltest.Key, "FOOTFALL_SITE_ID": footfalltest.SiteID}
}

func (e env) with(name, value string) env {
	e[name] = value
	return e
}

func run(t *testing.T, e env, args ...string) result {
	t.Helper()
	return begin(t, e, args...).wait(patience)
}

func TestAWrongCommandLineEndsWithStatus2(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	for want, args := range map[string][]string{
		"which command? -help lists the commands":                    {},
		`there is no command "sned"`:                                 {"sned"},
		"flag provided but not defined: -jsno":                       {"sites", "-jsno"},
		`takes no argument "x"`:                                      {"doctor", "x"},
		"No help topic for 'x'":                                      {"help", "x"},
		"No help topic for 'tcsh'":                                   {"completion", "tcsh"},
		"needs one NAME, not 0":                                      {"send"},
		"needs one NAME, not 2":                                      {"send", "a", "b"},
		`-prop "k" is not of the form KEY=VALUE`:                     {"send", "x", "-url", "https://example.com/", "-prop", "k"},
		"the event has no page: set -url or FOOTFALL_DEFAULT_URL":    {"send", "x"},
		"footfall: name: empty":                                      {"send", "", "-url", "https://example.com/"},
		"url: not absolute: it needs http:// or https:// and a host": {"send", "x", "-url", "example.com"},
	} {
		got := run(t, envOf(api.URL), args...)
		assert.Equal(t, 2, got.status, "%q: %+v", args, got)
		assert.Contains(t, got.err, want)
		assert.NotContains(t, got.err, "footfall: footfall: ")
		assert.Equal(t, 1, strings.Count(got.err, "\n"), "one line: %s", got.err)
	}
	got := run(t, envOf(api.URL).with("FOOTFALL_SITE_ID", ""), "send", "x", "-url", "https://example.com/")
	assert.Equal(t, 2, got.status)
	assert.Contains(t, got.err, "set FOOTFALL_SITE_ID or -site")
	got = run(t, envOf(api.URL).with("FOOTFALL_DISABLED", "true"), "send", "x", "-url", "https://example.com/")
	assert.Equal(t, 2, got.status)
	assert.Contains(t, got.err, "FOOTFALL_DISABLED: true: unset it")
	got = run(t, env{}, "sites")
	assert.Equal(t, 2, got.status)
	assert.Contains(t, got.err, "FOOTFALL_BASE_URL")
	assert.Contains(t, got.err, "FOOTFALL_API_KEY")
	assert.NotContains(t, got.err, "FOOTFALL_SITE_ID")
	got = run(t, envOf(api.URL).with("FOOTFALL_ALLOW_HTTP", "maybe"), "sites")
	assert.Equal(t, 2, got.status)
	assert.Contains(t, got.err, `FOOTFALL_ALLOW_HTTP: "maybe" is neither true nor false`)
	assert.Empty(t, api.Events())
}

// docs/tools.md says so.
func TestEachCommandPrintsJSON(t *testing.T) {
	t.Parallel()
	var walk func(*cli.Command)
	walk = func(c *cli.Command) {
		for _, one := range c.Commands {
			walk(one)
		}
		if len(c.Commands) == 0 {
			hasJSON := func(f cli.Flag) bool { return slices.Contains(f.Names(), "json") }
			assert.True(t, slices.ContainsFunc(c.Flags, hasJSON), c.Name)
		}
	}
	walk(newCommand(io.Discard, io.Discard))
}

func TestHelpVersionAndCompletion(t *testing.T) {
	t.Parallel()
	got := run(t, env{}, "-help")
	assert.Equal(t, 0, got.status)
	for _, command := range []string{"doctor", "sites", "send", "relay", "tail", "rejected", "stream", "version", "completion", "The exit status is 0 after success"} {
		assert.Contains(t, got.out, command)
	}
	got = run(t, env{}, "send", "-help")
	assert.Equal(t, 0, got.status)
	assert.Contains(t, got.out, "KEY=VALUE")
	version := run(t, env{}, "version")
	assert.Regexp(t, `^footfall \S+, go1\.\d+`, version.out)
	assert.Regexp(t, `^\{\s+"go": "go1\.\d+[^"]*",\s+"version": "[^"]+"\s+\}\n$`, run(t, env{}, "version", "-json").out)
	for _, flag := range []string{"-version", "--version"} {
		assert.Equal(t, version, run(t, env{}, flag), flag)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "pwsh"} {
		got = run(t, env{}, "completion", shell)
		assert.Equal(t, 0, got.status, shell)
		assert.Contains(t, got.out, "complet", shell)
	}
	for command, want := range map[string][]string{
		"": {"doctor", "sites", "send", "relay", "tail", "rejected", "stream", "version"}, "rejected": {"list", "show", "retry", "purge"},
		"relay -": {"-nats", "-creds", "-rate", "-embedded", "-metrics"}, "tail -": {"-site", "-event"}, "rejected purge -": {"-yes"},
	} {
		got = run(t, env{}, append(strings.Fields(command), "--generate-shell-completion")...)
		for _, word := range want {
			assert.Contains(t, got.out, word, "completion of %q", command)
		}
	}
}

// The documents write options with one hyphen, and both work.
func TestHelpAndCompletionsWriteOptionsAsTheDocumentsDo(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"doctor", "sites", "send", "relay", "tail", "rejected list", "rejected purge", "stream apply", "version"} {
		words := strings.Fields(command)
		got := run(t, env{}, append(words, "-help")...)
		assert.Equal(t, 0, got.status)
		assert.Contains(t, got.out, "-help, -h")
		assert.NotContains(t, got.out, "--", command)
		for start, want := range map[string]string{"-": "-help:", "--": "--help:"} {
			got = run(t, env{}, append(words, start, "--generate-shell-completion")...)
			assert.Contains(t, "\n"+got.out, "\n"+want, "%s %s", command, start)
			assert.NotContains(t, got.out, "`", command)
		}
	}
	got := run(t, env{}, "-", "--generate-shell-completion")
	assert.Contains(t, got.out, "-version:")
}

func TestWrongValuesAreRefusedBeforeAnythingIsConnected(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no PEM"), 0o600))
	relay := func(more ...string) []string {
		return append([]string{"relay", "-nats", "nats://127.0.0.1:1"}, more...)
	}
	for want, args := range map[string][]string{
		"-nats or FOOTFALL_NATS_URL: not set: set it to":                                                         {"tail"},
		"not set: set it to the addresses of the NATS servers, such as nats://nats-1:4222, or set -embedded DIR": {"relay"},
		"-nats or FOOTFALL_NATS_URL: entry 1: the port 99999 is not from 1 to 65535":                             {"tail", "-nats", "nats-1:99999"},
		`is wrong: longer than 246 bytes`:                                                                        relay("-stream", strings.Repeat("A", 300)),
		"-nats or FOOTFALL_NATS_URL: entry 2 is not an address":                                                  {"tail", "-nats", "nats-1,http://nats-2:4222"},
		"flag provided but not defined: -stream; footfall tail -help":                                            {"tail", "-stream", "SHOP"}, // it listens to the subject
		`"x" is not a number of events a second above zero`:                                                      relay("-rate", "x"),
		`-rate or FOOTFALL_RATE: "-1" is not a number`:                                                           relay("-rate=-1"),
		`"2" is wrong: not 1, 3 or 5`:                                                                            relay("-replicas", "2"),
		`-replicas or FOOTFALL_NATS_REPLICAS: "three" is not 1, 3 or 5`:                                          relay("-replicas", "three"),
		`-max-bytes or FOOTFALL_NATS_MAX_BYTES: "much" is not a size such as 512MiB`:                             relay("-max-bytes", "much"),
		`-max-age or FOOTFALL_NATS_MAX_AGE: "7" is not a duration such as 90s`:                                   relay("-max-age", "7"),
		`"5m" is wrong: longer than MaxAge`:                                                                      relay("-max-age", "1m", "-duplicate-window", "5m"),
		`-stop-timeout or FOOTFALL_STOP_TIMEOUT: "0s" is not a duration`:                                         relay("-stop-timeout", "0s"),
		`-ack-wait or FOOTFALL_ACK_WAIT: "30" is not a duration`:                                                 relay("-ack-wait", "30"),
		`-max-held or FOOTFALL_MAX_HELD: "0" is not a number above zero`:                                         relay("-max-held", "0"),
		`-max-ack-pending or FOOTFALL_MAX_ACK_PENDING: "x" is not a number above zero`:                           relay("-max-ack-pending", "x"),
		`-consumer or FOOTFALL_NATS_CONSUMER: "a.b" is wrong: contains a space`:                                  relay("-consumer", "a.b"),
		`-consumer or FOOTFALL_NATS_CONSUMER: "a b" is wrong: contains a space`:                                  {"doctor", "-consumer", "a b"},
		`-metrics or FOOTFALL_METRICS: "9091" is not an address such as 127.0.0.1:909`:                           relay("-metrics", "9091"),
		`-stream or FOOTFALL_NATS_STREAM: "A B" is wrong: contains a space`:                                      relay("-stream", "A B"),
		`-subject or FOOTFALL_NATS_SUBJECT: "a.*" is wrong: not one subject`:                                     relay("-subject", "a.*"),
		`cannot be read: open /none: no such file`:                                                               relay("-creds", "/none"),
		"is not a credentials file of NATS":                                                                      relay("-creds", text),
		"has no certificate in PEM":                                                                              relay("-tlsca", text),
		"needs -tlskey or FOOTFALL_NATS_KEY, too":                                                                relay("-tlscert", text),
		"needs -tlscert or FOOTFALL_NATS_CERT, too":                                                              relay("-tlskey", text),
		"are not a certificate and its key":                                                                      relay("-tlscert", text, "-tlskey", text),
		"no other address and no credentials: set only one of them":                                              relay("-embedded", t.TempDir()),
		`"3" is not 1: the embedded server keeps one replica; omit it`:                                           {"relay", "-embedded", t.TempDir(), "-replicas", "3"},
		"needs -embedded or FOOTFALL_EMBEDDED":                                                                   relay("-embedded-listen", "127.0.0.1:0"),
		`"x" is neither a SEQ nor an ID`:                                                                         {"rejected", "retry", "-nats", "127.0.0.1:1", "x"},
		"purge removes events for good: give SEQs or IDs, or -yes":                                               {"rejected", "purge", "-nats", "127.0.0.1:1"},
		`which command? footfall stream info or apply`:                                                           {"stream"},
		`there is no command "aply"; footfall stream -help`:                                                      {"stream", "aply"},
		"which bound? give at least one, such as -max-bytes 2GiB; footfall stream apply -help":                   {"stream", "apply", "-nats", "127.0.0.1:1"},
		`which command? footfall rejected list, show, retry or purge`:                                            {"rejected"},
		`there is no command "lits"`:                                                                             {"rejected", "lits"},
		`-limit: "0" is not a number above zero`:                                                                 {"rejected", "list", "-nats", "127.0.0.1:1", "-limit", "0"},
		`-since: "yesterday" is not a duration`:                                                                  {"rejected", "list", "-nats", "127.0.0.1:1", "-since", "yesterday"},
		"give either SEQs and IDs, or options that choose events":                                                {"rejected", "retry", "-nats", "127.0.0.1:1", "-site", "a", "7"},
		"which events? give SEQs or IDs; footfall rejected list -nats nats://127.0.0.1:1 shows them":             {"rejected", "show", "-nats", "127.0.0.1:1"},
		"give SEQs or IDs, or -yes for all\n":                                                                    {"rejected", "purge", "-nats", "127.0.0.1:1"},
		"give SEQs or IDs, or -yes for all that the options choose\n":                                            {"rejected", "purge", "-nats", "127.0.0.1:1", "-site", "a"},
		`takes no argument "7"`:                                                                                  {"rejected", "list", "7"},
		"-nats-monitor or FOOTFALL_NATS_MONITOR: \"nats-1:8222\" is not a list of URLs":                          {"doctor", "-nats-monitor", "nats-1:8222"},
	} {
		got := run(t, envOf("http://127.0.0.1:1"), args...)
		assert.Equal(t, 2, got.status, "%q: %+v", args, got)
		assert.Contains(t, got.err, want)
		assert.NotContains(t, got.err, "refused", "%q: nothing is connected", args)
	}
	for variable, row := range map[string][2]string{
		"FOOTFALL_NATS_PASSWORD": {"x", "set without FOOTFALL_NATS_USER"},
		"FOOTFALL_NATS_REPLICAS": {"many", "is not 1, 3 or 5"},
		"FOOTFALL_DISABLED":      {"true", "unset it, or do not run the relay"},
		"FOOTFALL_API_KEY":       {"", "FOOTFALL_API_KEY"},
	} {
		got := run(t, envOf("http://127.0.0.1:1").with(variable, row[0]), relay()...)
		assert.Equal(t, 2, got.status, "%s: %+v", variable, got)
		assert.Contains(t, got.err, row[1], variable)
	}
	unused := filepath.Join(t.TempDir(), "unused")
	run(t, envOf("http://127.0.0.1:1").with("FOOTFALL_API_KEY", ""), "relay", "-embedded", unused)
	assert.NoDirExists(t, unused)
	got := run(t, envOf("http://127.0.0.1:1").with("FOOTFALL_NATS_USER", "a"), relay("-creds", credsFile(t))...)
	assert.Equal(t, 2, got.status)
	assert.Contains(t, got.err, "-creds or FOOTFALL_NATS_CREDS: cannot be combined with FOOTFALL_NATS_USER or FOOTFALL_NATS_PASSWORD: set either the file, or user and password")
}
