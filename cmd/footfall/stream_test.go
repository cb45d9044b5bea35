package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestStreamApplyChangesTheBoundsThatAreGiven(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	e := at(s, api)
	delete(e, "FOOTFALL_NATS_REPLICAS")
	got := run(t, e, "stream", "apply", "-max-bytes", "2GiB")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, `has no stream "FOOTFALL": the first program or relay creates it`)
	assert.Empty(t, got.out)

	publish(t, s.ClientURL(), 3)
	p, _ := relayed(t, e) // with another number of replicas
	p.sees("replicas is 1, not 3")
	got = run(t, e, "stream", "apply", "-max-bytes", "2GiB", "-rejected-max-age", "unlimited")
	assert.Equal(t, result{"FOOTFALL: max bytes was 1073741824, is 2147483648\nFOOTFALL_REJECTED: max age was 720h0m0s, is unlimited\n", "", 0}, got)
	got = run(t, e, "stream", "apply", "-max-bytes", "2GiB")
	assert.Equal(t, result{"The streams have these bounds.\n", "", 0}, got)
	got = run(t, e, "stream", "apply", "-json", "-max-bytes", "3GiB")
	assert.JSONEq(t, `{"changed": [{"stream": "FOOTFALL", "setting": "max bytes", "from": "2147483648", "to": "3221225472"}]}`, got.out)
	assert.Equal(t, 0, p.stop().status)

	got = run(t, e, "stream", "apply", "-replicas", "3")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "replicas > 1 not supported in non-clustered mode")
}

func TestStreamInfoShowsWhatIsInTheStreams(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	e := at(s, api)
	got := run(t, e, "stream", "info")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, `has no stream "FOOTFALL": the first program or relay creates it`)
	publish(t, s.ClientURL(), 3)
	got = run(t, e, "stream", "info")
	assert.Equal(t, 0, got.status)
	assert.Regexp(t, `^FOOTFALL\n  events    3, of them 0 with relays\n  oldest    \ds old, of at most 168h0m0s\n  expired   0, which no relay had taken\n  size      \d+ B of 1.0 GiB\n  replicas  1\n  window    2m0s for duplicates\nFOOTFALL_REJECTED\n  none yet: the first relay creates it\n$`, got.out)
	api.Next(footfalltest.Status(422))
	p, base := relayed(t, e)
	idle(t, base)
	assert.Equal(t, 0, p.stop().status)
	got = run(t, e, "stream", "info")
	assert.Regexp(t, `\nFOOTFALL_REJECTED\n  events    1\n  max age   720h0m0s\n  size      \d+ B of 64 MiB\n$`, got.out)
	got = run(t, e, "stream", "info", "-json")
	var is streamInfo
	require.NoError(t, json.Unmarshal([]byte(got.out), &is))
	assert.Positive(t, is.RejectedBytes)
	is.RejectedBytes = 0
	assert.Equal(t, streamInfo{MaxBytes: 1 << 30, MaxAgeSeconds: 604800, Replicas: 1, DuplicateWindowSeconds: 120, Rejected: 1, RejectedMaxBytes: 64 << 20, RejectedMaxAgeSeconds: 2592000}, is)
}

func TestStreamInfoOfAUserWhoMayNotReadItIsAnError(t *testing.T) {
	t.Parallel()
	for subject, denied := range map[string][]string{
		"$JS.API.CONSUMER.INFO.FOOTFALL.footfall-relay": {"$JS.API.CONSUMER.INFO.FOOTFALL.footfall-relay", "$JS.API.STREAM.INFO.FOOTFALL_REJECTED"},
		"$JS.API.STREAM.INFO.FOOTFALL_REJECTED":         {"$JS.API.STREAM.INFO.FOOTFALL_REJECTED"},
		"$JS.API.STREAM.INFO.FOOTFALL":                  {"$JS.API.STREAM.INFO.FOOTFALL"},
	} {
		s := startNATSServer(t, documentedUsers(t, denied...))
		publishAs(t, s, "operator", "o", 1)
		got := run(t, at(s, footfalltest.NewAPI(t)).as("relay", "r"), "stream", "info")
		assert.Equal(t, 1, got.status, subject)
		assert.Empty(t, got.out, subject)
		assert.Contains(t, got.err, `Publish to "`+subject+`": user "relay" of FOOTFALL_NATS_USER`)
	}
}

func TestStreamApplyWaitsUntilTheReplicasAreSettled(t *testing.T) {
	t.Parallel()
	_, urls := startNATSCluster(t)
	e := envOf(footfalltest.NewAPI(t).URL).with("FOOTFALL_NATS_URL", strings.Join(urls, ","))
	p, base := relayed(t, e, "-replicas", "1")
	require.Eventually(t, func() bool { status, _ := get(t, base, "/readyz"); return status == 200 }, patience, 50*time.Millisecond)
	got := run(t, e, "stream", "apply", "-replicas", "3")
	assert.Equal(t, 0, got.status, "%+v", got)
	assert.Equal(t, "FOOTFALL: replicas was 1, is 3\nFOOTFALL_REJECTED: replicas was 1, is 3\n", got.out)
	assert.Regexp(t, "(?s)waiting until NATS has settled the replicas.*the replicas are settled", got.err)
	findings, _ := examined(t, e)
	checked(t, findings, "replicas", doctor.Good, "3 current, leader n", "")
	assert.Equal(t, 0, p.stop().status)
}

func TestStreamApplyNamesTheFlagThatIsWrong(t *testing.T) {
	t.Parallel()
	s := startNATSServer(t)
	e := at(s, footfalltest.NewAPI(t))
	delete(e, "FOOTFALL_NATS_REPLICAS")
	publish(t, s.ClientURL(), 1)
	for _, args := range [][]string{{"-max-age", "200h"}, {"-duplicate-window", "190h"}} {
		got := run(t, e, append([]string{"stream", "apply"}, args...)...)
		assert.Equal(t, 0, got.status, "%+v", got)
	}
	for want, args := range map[string][]string{
		"footfall: -duplicate-window: 201h0m0s is longer than the max age": {"-duplicate-window", "201h"},
		"footfall: -max-age: 1s is less than the duplicate window":         {"-max-age", "1s"},
	} {
		got := run(t, e, append([]string{"stream", "apply"}, args...)...)
		assert.Equal(t, 1, got.status, "%+v", got)
		assert.Contains(t, got.err, want)
		assert.NotContains(t, got.err, "check host and port")
	}
}
