package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// lines waits until the process has printed n lines, and returns them.
func (p *process) lines(n int) []string {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Count(p.said().out, "\n") >= n }, patience, 10*time.Millisecond, "not %d lines", n)
	return strings.Split(strings.TrimSuffix(p.said().out, "\n"), "\n")
}

func TestTailPrintsPublishedEvents(t *testing.T) {
	t.Parallel()
	s := startNATSServer(t)
	e := at(s, footfalltest.NewAPI(t))
	publish(t, s.ClientURL(), 1) // before
	all := begin(t, e, "tail")
	asJSON := begin(t, e, "tail", "-json", "-site", footfalltest.SiteID, "-event", "tested")
	none := []*process{begin(t, e, "tail", "-event", "other"), begin(t, e, "tail", "-site", "other", "-subject", "footfall.events"), begin(t, e, "tail", "-subject", "other.events")}
	for _, p := range append(none, all, asJSON) {
		p.sees("events from now on; Ctrl\\+C ends")
	}
	time.Sleep(200 * time.Millisecond) // the subscriptions follow
	publish(t, s.ClientURL(), 2, footfall.P("plan", "a\x1b[31m b"))

	got := all.lines(2)
	require.Len(t, got, 2)
	assert.Regexp(t, `^\d\d:\d\d:\d\d\.\d{3}  tested  site_test  https://example\.com/  n=0  plan="a\\x1b\[31m b"$`, got[0])
	var m struct {
		ID    string
		Event map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(asJSON.lines(2)[1]), &m))
	assert.Len(t, m.ID, 36)
	assert.Equal(t, "tested", m.Event["name"])
	assert.Equal(t, map[string]any{"plan": "a\x1b[31m b", "n": 1.0}, m.Event["props"])
	for _, p := range append(none, all, asJSON) {
		assert.Equal(t, 0, p.stop().status)
	}
	for _, p := range none {
		assert.Empty(t, p.said().out)
	}
	assert.Equal(t, 3, messages(t, s.ClientURL(), "FOOTFALL"), "tail takes none")
}

func TestTailShowsMessagesThatAreNotEvents(t *testing.T) {
	t.Parallel()
	s := startNATSServer(t)
	p := begin(t, at(s, footfalltest.NewAPI(t)), "tail")
	asJSON := begin(t, at(s, footfalltest.NewAPI(t)), "tail", "-json")
	p.sees("events from now on")
	asJSON.sees("events from now on")
	time.Sleep(200 * time.Millisecond)
	require.NoError(t, connected(t, s.ClientURL()).Conn().Publish("footfall.events", []byte("\x1b[2J")))
	assert.Regexp(t, `  not an event, 4 bytes$`, p.lines(1)[0])
	assert.JSONEq(t, `{"event":"\u001b[2J"}`, asJSON.lines(1)[0])
}

func TestTailContinuesAfterAnOutageOfNATS(t *testing.T) {
	t.Parallel()
	address, dir := freeAddress(t), t.TempDir()
	same := func(o *server.Options) { o.Port, o.StoreDir = portOf(t, address), dir }
	s := startNATSServer(t, same)
	p := begin(t, at(s, footfalltest.NewAPI(t)), "tail")
	p.sees("events from now on")
	s.Shutdown()
	s.WaitForShutdown()
	p.sees("the connection to NATS is lost; reconnecting")
	startNATSServer(t, same)
	p.sees("connected to NATS again")
	publish(t, "nats://"+address, 1)
	assert.Contains(t, p.lines(1)[0], "tested")
}

func TestTailEndsWhenNATSRefusesItsCredentials(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	same := func(password string) func(o *server.Options) {
		return func(o *server.Options) { o.Port, o.Username, o.Password = portOf(t, address), "shop", password }
	}
	s := startNATSServer(t, same("before"))
	p := begin(t, at(s, footfalltest.NewAPI(t)).with("FOOTFALL_NATS_USER", "shop").with("FOOTFALL_NATS_PASSWORD", "before"), "tail")
	p.sees("events from now on")
	s.Shutdown()
	s.WaitForShutdown()
	startNATSServer(t, same("after"))
	p.sees(`footfall: NATS at .*: .*uthorization.*: user "shop" of FOOTFALL_NATS_USER: set -creds`)
	assert.Equal(t, 1, p.wait(patience).status)
}
