//go:build ci && linux

package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/freeport"
)

// cluster is three NATS servers. The routes between them are wires.
type cluster struct {
	t     *testing.T
	nodes [3]*node
	wires [3][3]*wire // wires[i][j] leads from server i to server j
}

// node is a NATS server in its own process.
type node struct {
	t    *testing.T
	url  string
	conf string
	log  string
	run  *exec.Cmd
}

func startCluster(t *testing.T, binary string) *cluster {
	t.Helper()
	c := &cluster{t: t}
	ports, err := freeport.Ports(6)
	require.NoError(t, err)
	for i := range c.wires {
		for j := range c.wires {
			if i != j {
				c.wires[i][j] = newWire(t, address(ports[3+j]))
			}
		}
	}
	for i := range c.nodes {
		c.nodes[i] = newNode(t, i, ports[i], ports[3+i], c.wires[i][:])
		c.nodes[i].start(binary)
	}
	c.awaitJetStream()
	return c
}

// newNode writes the configuration of a server. It advertises an address where no server listens,
// because the others would use its address in place of the wires.
func newNode(t *testing.T, i, port, cluster int, wires []*wire) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{t: t, url: "nats://" + address(port), conf: filepath.Join(dir, "nats.conf"), log: filepath.Join(dir, "log")}
	var routes []string
	for _, w := range wires {
		if w != nil {
			routes = append(routes, "nats://"+w.proxy.Listen)
		}
	}
	conf := fmt.Sprintf(`
server_name: n%d
listen: %q
logfile: %q
jetstream { store_dir: %q, sync_interval: always }
cluster { name: footfall, listen: %q, advertise: "127.0.0.1:1", no_advertise: true, routes: [%s] }
`, i, address(port), n.log, dir, address(cluster), strings.Join(routes, ", "))
	require.NoError(t, os.WriteFile(n.conf, []byte(conf), 0o600))
	t.Cleanup(n.end)
	return n
}

func (n *node) start(binary string) {
	n.t.Helper()
	n.run = exec.Command(binary, "-c", n.conf)
	n.run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(n.t, n.run.Start())
}

// stop ends the server as an operator does.
func (n *node) stop() {
	_ = n.run.Process.Signal(syscall.SIGTERM)
	_ = n.run.Wait()
}

func (n *node) end() {
	if n.run != nil {
		_ = n.run.Process.Kill()
		_ = n.run.Wait()
	}
	if n.t.Failed() {
		log, _ := os.ReadFile(n.log)
		lines := strings.Split(string(log), "\n")
		n.t.Logf("log of %s:\n%s", n.url, strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
}

// isolate cuts a server off from the others.
func (c *cluster) isolate(i int) {
	c.t.Helper()
	for j := range c.nodes {
		if i != j {
			c.wires[i][j].cut(c.t)
			c.wires[j][i].cut(c.t)
		}
	}
}

// rejoin ends isolate.
func (c *cluster) rejoin(i int) {
	c.t.Helper()
	for j := range c.nodes {
		if i != j {
			c.wires[i][j].heal(c.t)
			c.wires[j][i].heal(c.t)
		}
	}
}

// urls returns the addresses of the servers, beginning with server i.
func (c *cluster) urls(i int) string {
	return strings.Join([]string{c.nodes[i].url, c.nodes[(i+1)%3].url, c.nodes[(i+2)%3].url}, ",")
}

// info returns the state of the stream.
func (c *cluster) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	js, end, err := c.manage()
	if err != nil {
		return nil, err
	}
	defer end()
	s, err := js.Stream(ctx, "FOOTFALL")
	if err != nil {
		return nil, err
	}
	return s.CachedInfo(), nil
}

func (c *cluster) manage() (jetstream.JetStream, func(), error) {
	nc, err := nats.Connect(c.urls(0), nats.Timeout(time.Second))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Second))
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return js, nc.Close, nil
}

// leader returns the server that leads the stream.
func (c *cluster) leader() int {
	c.t.Helper()
	info, err := c.info(c.t.Context())
	require.NoError(c.t, err)
	return int(info.Cluster.Leader[1] - '0')
}

// whole reports whether all replicas of the stream are current.
func (c *cluster) whole() bool {
	info, err := c.info(c.t.Context())
	if err != nil || info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != 2 {
		return false
	}
	for _, r := range info.Cluster.Replicas {
		if !r.Current || r.Offline {
			return false
		}
	}
	return true
}

// awaitJetStream waits until the servers answer requests of JetStream.
func (c *cluster) awaitJetStream() {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		js, end, err := c.manage()
		if err != nil {
			return false
		}
		defer end()
		_, err = js.AccountInfo(c.t.Context())
		return err == nil
	}, patience, 100*time.Millisecond)
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
