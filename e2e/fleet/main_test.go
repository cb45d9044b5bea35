//go:build ci && linux

package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience bounds each wait, also on a busy machine.
const patience = 90 * time.Second

// current builds nats-server of the version in go.mod on its first call.
var current func() (string, error)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "footfall-fleet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	current = sync.OnceValues(func() (string, error) {
		path := filepath.Join(dir, "nats-server")
		out, err := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build nats-server: %w: %s", err, out)
		}
		return path, nil
	})
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
