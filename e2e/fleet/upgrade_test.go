//go:build ci && linux

package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// previous is the last patch of the minor version before the one in go.mod.
const previous = "v2.14.9"

// install builds another version of nats-server, which needs a module proxy.
func install(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "install", "github.com/nats-io/nats-server/v2@"+version)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOWORK=off", "GOFLAGS=")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("nats-server %s cannot be installed: %v: %s", version, err, out)
	}
	return filepath.Join(dir, "nats-server")
}

func TestNATSIsUpgradedOneServerAtATime(t *testing.T) {
	t.Parallel()
	after, err := current()
	require.NoError(t, err)
	before := install(t, previous)
	c, api := startCluster(t, before), footfalltest.NewAPI(t)
	tr := open(t, config(c.urls(0)))
	relay(t, api, config(c.urls(1)))
	stop := traffic(t, tr)
	for i, n := range c.nodes {
		require.Eventually(t, c.whole, patience, 100*time.Millisecond)
		n.stop()
		n.start(after)
		require.Eventually(t, c.whole, patience, 100*time.Millisecond)
		t.Logf("server %d upgraded: stored %d, arrived %d", i, tr.Stats().Stored, len(api.Events()))
	}
	n := stop()
	flush(t, tr, patience)
	assert.Equal(t, uint64(n), tr.Stats().Stored)
	assert.Zero(t, tr.Stats().Dropped)
	arrive(t, api, n)
}
