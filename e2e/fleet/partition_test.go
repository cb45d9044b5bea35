//go:build ci && linux

package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// A server that is cut off from the others has no quorum, so it acknowledges nothing. Programs that
// are connected to it can reach the others.
func TestAProgramLeavesAServerThatIsCutOff(t *testing.T) {
	t.Parallel()
	binary, err := current()
	require.NoError(t, err)
	c := startCluster(t, binary)
	first := open(t, config(c.urls(0)))
	track(t, first, 100)
	flush(t, first, patience)

	alone := c.leader()
	there, elsewhere := open(t, config(c.urls(alone))), open(t, config(c.urls((alone+1)%3)))
	track(t, there, 100)
	track(t, elsewhere, 100)
	flush(t, there, patience)
	flush(t, elsewhere, patience)
	c.isolate(alone)
	began := time.Now()
	track(t, there, 300)
	track(t, elsewhere, 300)
	flush(t, elsewhere, patience)
	t.Logf("stored again after %v with a server of the majority", time.Since(began).Round(time.Millisecond))
	flush(t, there, patience)
	t.Logf("stored again after %v with the server that is cut off", time.Since(began).Round(time.Millisecond))

	c.rejoin(alone)
	require.Eventually(t, c.whole, patience, 100*time.Millisecond)
	stored := int(first.Stats().Stored + there.Stats().Stored + elsewhere.Stats().Stored)
	require.Equal(t, 900, stored)
	info, err := c.info(t.Context())
	require.NoError(t, err)
	assert.Equal(t, stored, int(info.State.Msgs), "what was Stored is there, each once")
	api := footfalltest.NewAPI(t)
	relay(t, api, config(c.urls(0)))
	arrive(t, api, stored)
}

func TestARelayLeavesAServerThatIsCutOff(t *testing.T) {
	t.Parallel()
	binary, err := current()
	require.NoError(t, err)
	c, api := startCluster(t, binary), footfalltest.NewAPI(t)
	first := open(t, config(c.urls(0)))
	track(t, first, 100)
	flush(t, first, patience)

	alone := c.leader()
	r, stop := relay(t, api, config(c.urls(alone)))
	arrive(t, api, 100)
	elsewhere := open(t, config(c.urls((alone+1)%3)))
	c.isolate(alone)
	began := time.Now()
	track(t, elsewhere, 300)
	flush(t, elsewhere, patience)
	arrive(t, api, 400)
	t.Logf("delivered again after %v", time.Since(began).Round(time.Millisecond))
	require.NoError(t, r.Ready())
	c.rejoin(alone)
	track(t, elsewhere, 100)
	flush(t, elsewhere, patience)
	arrive(t, api, 500)
	stop()
	require.Eventually(t, func() bool {
		info, err := c.info(t.Context())
		return err == nil && info.State.Msgs == 0
	}, patience, 100*time.Millisecond)
}
