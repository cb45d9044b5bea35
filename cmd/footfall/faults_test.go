package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/footfalltest"
)

// natsCommands are the commands that connect to NATS and end.
var natsCommands = map[string][]string{
	"relay": {"relay"}, "tail": {"tail"}, "list": {"rejected", "list"}, "retry": {"rejected", "retry"}, "purge": {"rejected", "purge", "-yes"},
}

func TestWrongCredentialsAreNamed(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	s := startNATSServer(t, func(o *server.Options) { o.Username, o.Password = "shop", "secret-1" })
	for name, args := range natsCommands {
		e := at(s, api).with("FOOTFALL_NATS_USER", "shop").with("FOOTFALL_NATS_PASSWORD", "secret-2")
		got := run(t, e, args...)
		assert.Equal(t, 1, got.status, "%s: %+v", name, got)
		assert.Contains(t, got.err, "NATS at "+s.ClientURL()+": ", name)
		assert.Contains(t, got.err, "uthorization", name)
		assert.Contains(t, got.err, `user "shop" of FOOTFALL_NATS_USER: set -creds`, name)
		assert.NotContains(t, got.err+got.out, "secret-2", "the password is a secret")
	}
	got := run(t, at(s, api), "rejected", "list")
	assert.Contains(t, got.err, "no credentials were given: set -creds")
	right := "nats://shop:secret-1@" + s.Addr().String()
	got = run(t, at(s, api).with("FOOTFALL_NATS_URL", right), "rejected", "list")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "NATS at "+s.ClientURL()+` has no stream "FOOTFALL_REJECTED": the first relay creates it`)
	assert.NotContains(t, got.err, "secret-1")

	p, _ := relayed(t, at(s, api).with("FOOTFALL_NATS_USER", "shop").with("FOOTFALL_NATS_PASSWORD", "secret-1"))
	assert.Equal(t, 0, p.stop().status)
}

// credsFile writes a credentials file of a user that no server knows.
func credsFile(t *testing.T) string {
	t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "nats.creds")
	text := "-----BEGIN NATS USER JWT-----\neyJ0eXAiOiJKV1QifQ.eyJuYW1lIjoieCJ9.c2ln\n------END NATS USER JWT------\n\n" +
		"-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END USER NKEY SEED------\n"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestACredentialsFileIsSent(t *testing.T) {
	t.Parallel()
	api, file := footfalltest.NewAPI(t), credsFile(t)
	s := startNATSServer(t, func(o *server.Options) { o.Username, o.Password = "shop", "secret" })
	got := run(t, at(s, api), "rejected", "-creds", file, "list")
	assert.Equal(t, 2, got.status, "flags follow the command: %+v", got)
	got = run(t, at(s, api), "rejected", "list", "-creds", file)
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "credentials of "+file+": set -creds")
}

func TestAStreamOfOtherSettingsIsNamed(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 1)
	got := run(t, at(s, api), "relay", "-max-bytes", "2GiB", "-max-age", "unlimited")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, `the NATS stream "FOOTFALL" exists with other settings: max bytes is 1073741824, not 2147483648 (-max-bytes); max age is 168h0m0s, not unlimited (-max-age): give -max-bytes 1073741824 -max-age 168h0m0s, and programs the same in stream.Config, or`)

	p, _ := relayed(t, at(s, api)) // creates the stream of rejected events
	assert.Equal(t, 0, p.stop().status)
	got = run(t, at(s, api), "relay", "-rejected-max-bytes", "1MiB")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, `"FOOTFALL_REJECTED" exists with other settings: max bytes is 67108864, not 1048576 (-rejected-max-bytes)`)

	p, _ = relayed(t, at(s, api), "-stream", "OTHER", "-subject", "other.events", "-max-bytes", "2GiB", "-duplicate-window", "30s")
	assert.Equal(t, 0, p.stop().status)
	assert.Zero(t, messages(t, s.ClientURL(), "OTHER_REJECTED"))
}

func TestTheDocumentedDefaultsAreThoseOfTheStream(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/tools.md")
	require.NoError(t, err)
	page := string(text)
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	p, _ := relayed(t, at(s, api)) // creates the streams with the defaults
	assert.Equal(t, 0, p.stop().status)
	var args []string
	for flag, value := range map[string]string{
		"-stream": "FOOTFALL", "-subject": "footfall.events", "-max-bytes": "1GiB", "-max-age": "168h", "-duplicate-window": "2m",
		"-rejected-max-bytes": "64MiB", "-rejected-max-age": "720h",
	} {
		assert.Regexp(t, "(?m)^\\|.*`"+flag+"`.*"+value, page)
		args = append(args, flag, value)
	}
	findings, status := examined(t, at(s, api), args...)
	assert.Equal(t, 0, status)
	checked(t, findings, "stream", doctor.Good, "has the settings", "")
	for _, f := range append(natsconn.Flags(), natsconn.StreamFlags()...) {
		doc := f.(cli.DocGenerationFlag)
		assert.Contains(t, page, "`-"+f.Names()[0]+"`")
		assert.Contains(t, page, "`"+doc.GetEnvVars()[0]+"`")
		assert.Contains(t, doc.GetUsage(), "`")
	}
}

func TestAStreamThatIsChangedEndsTheRelay(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	p, _ := relayed(t, at(s, api))
	js := connected(t, s.ClientURL())
	require.NoError(t, js.DeleteStream(t.Context(), "FOOTFALL"))
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FOOTFALL", Subjects: []string{"footfall.events"}})
	require.NoError(t, err)
	assert.Equal(t, 1, p.wait(patience).status)
	assert.Contains(t, p.said().err, "retention is limits, not workqueue")
	assert.Contains(t, p.said().out, "Account: ")
}

func TestNATSThatIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	api, address := footfalltest.NewAPI(t), freeAddress(t)
	for name, args := range natsCommands {
		if name == "relay" {
			continue // waits
		}
		got := run(t, envOf(api.URL), append(args, "-nats", address)...)
		assert.Equal(t, 1, got.status, name)
		assert.Contains(t, got.err, "NATS at nats://"+address+": ", name)
		assert.Contains(t, got.err, "check host and port in -nats or FOOTFALL_NATS_URL", name)
	}
	got := run(t, env{}, "tail", "-nats", "tls://nats.footfall.invalid")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "NATS at tls://nats.footfall.invalid: ")
}

func TestAWrongKeyEndsTheRelay(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 3)
	got := run(t, at(s, api).with("FOOTFALL_API_KEY", "other"), "relay")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "the API at "+api.URL+": ")
	assert.Contains(t, got.err, "set FOOTFALL_API_KEY to it")
	got = run(t, at(s, api).with("FOOTFALL_BASE_URL", api.URL+"/stats"), "relay")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "something other than the API answers: set FOOTFALL_BASE_URL")
	page := plain(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>a page for each path</html>") })
	got = run(t, at(s, api).with("FOOTFALL_BASE_URL", page), "relay")
	assert.Equal(t, 1, got.status, "another service answers 200")
	assert.Contains(t, got.err, "something other than the API answers: set FOOTFALL_BASE_URL")
	assert.Equal(t, 3, messages(t, s.ClientURL(), "FOOTFALL"), "nothing is taken")
}

func TestARelayStartsAfterAnAnswerThatWasCut(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	cut := plain(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"data":[`)
	})
	p := begin(t, at(s, api).with("FOOTFALL_BASE_URL", cut), "relay")
	p.sees("the API is away; the relay starts")
	p.sees("The relay takes events")
	assert.Equal(t, 0, p.stop().status)
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
		`which command? footfall rejected list, retry or purge`:                                                  {"rejected"},
		`there is no command "lits"`:                                                                             {"rejected", "lits"},
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
	assert.Contains(t, got.err, "-creds or FOOTFALL_NATS_CREDS: set, and so is FOOTFALL_NATS_USER or FOOTFALL_NATS_PASSWORD: set either the file, or user and password")
}
