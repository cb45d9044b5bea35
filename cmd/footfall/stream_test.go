package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
