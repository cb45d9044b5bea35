package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
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

func TestSitesAreListed(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	got := run(t, envOf(api.URL), "sites")
	assert.Equal(t, result{"ID         DOMAIN       TRACKING  ADDED\nsite_test  example.com  active    2026-01-01\n", "", 0}, got)
	var paused strings.Builder
	require.NoError(t, writeSites(&paused, []footfall.Site{{ID: "site_paused"}}))
	assert.Contains(t, paused.String(), "inactive", "it has events, perhaps")
	got = run(t, envOf(api.URL).with("FOOTFALL_SITE_ID", ""), "sites", "-json")
	var sites []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &sites), got)
	assert.Equal(t, []map[string]any{{"id": "site_test", "domain": "example.com", "created_at": "2026-01-01T00:00:00Z", "tracking_active": true}}, sites)

	got = run(t, envOf(api.URL).with("FOOTFALL_API_KEY", "other"), "sites")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "Config.APIKey")
	assert.Contains(t, got.err, "footfall doctor tells more")
	assert.Empty(t, got.out)
}

func TestAnEventIsSent(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	got := run(t, envOf(api.URL), "send", "deploy_finished", "-url", "https://example.com/a,b",
		"-prop", "version=v1.4", "-prop", "seconds=41", "-prop", "share=0.5", "-prop", `zip="10115"`, "-prop", "text=a,b=c", "-prop", "empty=", "-prop", "truth=true", "-prop", "nothing=null")
	assert.Equal(t, result{"accepted: deploy_finished on https://example.com/a,b\n", "", 0}, got)
	require.Len(t, api.Events(), 1)
	e := api.Events()[0]
	assert.Equal(t, "deploy_finished", e.Name)
	assert.Equal(t, "https://example.com/a,b", e.URL)
	assert.Equal(t, map[string]any{"version": "v1.4", "seconds": 41.0, "share": 0.5, "zip": "10115", "text": "a,b=c", "empty": "", "truth": "true", "nothing": "null"}, e.Props)

	got = run(t, envOf(api.URL).with("FOOTFALL_DEFAULT_URL", "https://example.com/"), "send", "-json", "x")
	assert.JSONEq(t, `{"accepted":true,"site_id":"site_test","name":"x","url":"https://example.com/"}`, got.out)

	got = run(t, envOf(api.URL), "send", "-url", "https://example.com/", "-site", "site_other", "x")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "site_other")
	assert.Contains(t, got.err, "footfall sites lists them")
	got = run(t, envOf(api.URL).with("FOOTFALL_API_KEY", "other"), "send", "-url", "https://example.com/", "x")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "footfall doctor tells more")
	assert.Len(t, api.Events(), 2)
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
	assert.Contains(t, got.err, "FOOTFALL_ALLOW_HTTP: neither true nor false")
	assert.Empty(t, api.Events())
}

func TestHelpVersionAndCompletion(t *testing.T) {
	t.Parallel()
	got := run(t, env{}, "-help")
	assert.Equal(t, 0, got.status)
	for _, command := range []string{"doctor", "sites", "send", "relay", "tail", "rejected", "version", "completion", "The exit status is 0 after success"} {
		assert.Contains(t, got.out, command)
	}
	got = run(t, env{}, "send", "-help")
	assert.Equal(t, 0, got.status)
	assert.Contains(t, got.out, "KEY=VALUE")
	got = run(t, env{}, "version")
	assert.Regexp(t, `^footfall \S+, go1\.\d+`, got.out)
	for _, shell := range []string{"bash", "zsh", "fish", "pwsh"} {
		got = run(t, env{}, "completion", shell)
		assert.Equal(t, 0, got.status, shell)
		assert.Contains(t, got.out, "complet", shell)
	}
	for command, want := range map[string][]string{
		"": {"doctor", "sites", "send", "relay", "tail", "rejected", "version"}, "rejected": {"list", "retry", "purge"},
		"relay -": {"-nats", "-creds", "-rate", "-embedded", "-metrics"}, "tail -": {"-site", "-event"}, "rejected purge -": {"-yes"},
	} {
		got = run(t, env{}, append(strings.Fields(command), "--generate-shell-completion")...)
		for _, word := range want {
			assert.Contains(t, got.out, word, "completion of %q", command)
		}
	}
}
