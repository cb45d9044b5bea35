package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// listed returns the rejected events.
func listed(t *testing.T, e env) (events []rejectedEvent) {
	t.Helper()
	got := run(t, e, "rejected", "list", "-json")
	require.Equal(t, 0, got.status, "%+v", got)
	require.NoError(t, json.Unmarshal([]byte(got.out), &events), got.out)
	return events
}

// rejecting starts a relay whose API rejects n events.
func rejecting(t *testing.T, n int) (e env, api *footfalltest.API, p *process) {
	t.Helper()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	api.Always(footfalltest.Body(404, "application/json", `{"error":"not_found\u009b","message":"no site \u001b[31m\"here\"\u009b","status":404}`))
	e = at(s, api)
	p, base := relayed(t, e)
	assert.Empty(t, listed(t, e))
	publish(t, s.ClientURL(), n, footfall.P("plan", "pro"))
	require.Eventually(t, func() bool { return scraped(t, base)["footfall_relay_rejected_stored_events"] == float64(n) }, patience, 50*time.Millisecond)
	return e, api, p
}

func TestRejectedEventsAreListedRetriedAndPurged(t *testing.T) {
	t.Parallel()
	e, api, _ := rejecting(t, 6)
	all := listed(t, e)
	require.Len(t, all, 6)
	first := all[0]
	assert.Equal(t, []any{404, "not_found\u009b", "no site  [31m\"here\"\u009b"}, []any{first.Status, first.Code, first.Message})
	assert.WithinDuration(t, time.Now(), first.Time, patience)
	event := first.Event.(map[string]any)
	assert.Equal(t, "tested", event["name"])
	assert.Equal(t, "pro", event["props"].(map[string]any)["plan"])
	got := run(t, e, "rejected", "list")
	assert.Regexp(t, `^SEQ +TIME +STATUS +CODE +EVENT +SITE +MESSAGE\n1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +404 +not_found\? +tested +site_test +no site  \[31m"here"\?\n2 `, got.out)
	assert.NotContains(t, got.out, "\x1b")

	api.Always(footfalltest.Accept())
	got = run(t, e, "rejected", "retry", fmt.Sprint(first.Seq), all[1].ID, all[1].ID)
	assert.Equal(t, result{"2 moved back to the stream; relays send them again\n", "", 0}, got)
	require.Eventually(t, func() bool { return len(api.Events()) == 2 }, patience, 10*time.Millisecond)
	assert.Len(t, listed(t, e), 4)

	got = run(t, e, "rejected", "purge", "-json", strconv.FormatUint(all[2].Seq, 10))
	assert.Equal(t, 0, got.status)
	assert.JSONEq(t, `{"purged": 1}`, got.out)
	assert.Equal(t, all[3].ID, listed(t, e)[0].ID)

	for _, command := range []string{"retry", "purge"} {
		got = run(t, e, "rejected", command, all[3].ID, "1")
		assert.Equal(t, 1, got.status)
		assert.Contains(t, got.err, "there is no rejected event 1: footfall rejected list -nats "+e["FOOTFALL_NATS_URL"]+" shows the existing ones")
		assert.Empty(t, got.out)
		assert.Len(t, listed(t, e), 3, "nothing is done if one is missing")
	}
	got = run(t, e, "rejected", "retry", "-json")
	assert.JSONEq(t, `{"retried": 3}`, got.out)
	require.Eventually(t, func() bool { return len(api.Events()) == 5 }, patience, 10*time.Millisecond)
	assert.Empty(t, listed(t, e))
}

func TestPurgeOfAllNeedsYes(t *testing.T) {
	t.Parallel()
	e, _, p := rejecting(t, 3)
	got := run(t, e, "rejected", "purge")
	assert.Equal(t, 2, got.status)
	got = run(t, e, "rejected", "purge", "-yes", "1")
	assert.Equal(t, 2, got.status, "either")
	assert.Len(t, listed(t, e), 3)
	got = run(t, e, "rejected", "purge", "-yes")
	assert.Equal(t, result{"3 removed for good\n", "", 0}, got)
	assert.Empty(t, listed(t, e))
	assert.Equal(t, 0, p.stop().status)
}

func TestCommandsAtTheSameTimeDoNotStopEachOther(t *testing.T) {
	t.Parallel()
	e, api, _ := rejecting(t, 300)
	api.Always(footfalltest.Accept())
	var running []*process
	for _, args := range [][]string{{"retry"}, {"retry", "-json"}, {"purge", "-yes"}} {
		running = append(running, begin(t, e, append([]string{"rejected"}, args...)...))
	}
	for _, p := range running {
		got := p.wait(patience)
		assert.Equal(t, 0, got.status, "%+v", got)
		assert.Empty(t, got.err)
	}
	assert.Empty(t, listed(t, e))
}

// A line of the log, or of an error, names a command that works in another shell.
func TestACommandAsPrintedListsTheRejectedEvents(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(422))
	e := at(s, api)
	args := []string{"-stream", "OTHER", "-subject", "other.events"}
	p, _ := relayed(t, e, args...)
	_, err := connected(t, s.ClientURL()).Publish(t.Context(), "other.events", []byte(`{"name":"lost","site_id":"site_9"}`))
	require.NoError(t, err)
	logged := p.sees(`command="footfall (rejected list [^"]*)"`)
	missing := run(t, env{}, append([]string{"rejected", "retry", "-nats", s.ClientURL()}, append(args, "77")...)...)
	for _, command := range []string{
		logged,
		regexp.MustCompile(`footfall (rejected list .*) shows`).FindStringSubmatch(missing.err)[1],
	} {
		require.Eventually(t, func() bool {
			got := run(t, env{}, strings.Fields(command)...)
			return got.status == 0 && strings.Contains(got.out, "site_9")
		}, patience, 50*time.Millisecond, command)
	}
}
