package stream_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/freeport"
)

// patience bounds each wait, also on a busy machine.
const patience = time.Minute

// serverConf is the variable that makes the test binary a NATS server, which may be killed.
const serverConf = "FOOTFALL_TEST_NATS_CONF"

// runServer runs a NATS server with the given configuration until the process is killed or its
// standard input ends.
func runServer(conf string) {
	options, err := server.ProcessConfigFile(conf)
	if err != nil {
		panic(err)
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		panic(err)
	}
	s.ConfigureLogger()
	s.Start()
	_, _ = os.Stdin.Read(make([]byte, 1)) // the test has ended
	s.Shutdown()
}

// node is a NATS server in its own process.
type node struct {
	t    testing.TB
	conf string
	url  string
	run  *exec.Cmd
	hold *os.File // its standard input ends with the test
}

// startNode starts a server on the loopback interface. jetstream is added to that part of its
// configuration.
func startNode(t testing.TB, jetstream string) *node {
	return nodeAt(t, freePort(t), jetstream, "")
}

func nodeAt(t testing.TB, port int, jetstream, more string) *node {
	dir := t.TempDir()
	n := &node{t: t, conf: filepath.Join(dir, "nats.conf"), url: fmt.Sprintf("nats://127.0.0.1:%d", port)}
	conf := fmt.Sprintf("listen: 127.0.0.1:%d\njetstream { store_dir: %q, %s }\nlogfile: %q\n%s\n", port, dir, jetstream, filepath.Join(dir, "log"), more)
	require.NoError(t, os.WriteFile(n.conf, []byte(conf), 0o600))
	t.Cleanup(n.stop)
	n.start()
	return n
}

func (n *node) start() {
	n.t.Helper()
	self, err := os.Executable()
	require.NoError(n.t, err)
	n.run = exec.Command(self)
	n.run.Env = append(os.Environ(), serverConf+"="+n.conf)
	n.run.Stderr = os.Stderr
	in, out, err := os.Pipe()
	require.NoError(n.t, err)
	n.run.Stdin, n.hold = in, out
	require.NoError(n.t, n.run.Start())
	require.NoError(n.t, in.Close())
}

// kill ends the server with SIGKILL.
func (n *node) kill() {
	if n.run == nil {
		return
	}
	_ = n.run.Process.Kill()
	_ = n.run.Wait()
	_ = n.hold.Close()
	n.run = nil
}

func (n *node) stop() {
	n.kill()
	if n.t.Failed() {
		log, _ := os.ReadFile(filepath.Join(filepath.Dir(n.conf), "log"))
		lines := strings.Split(string(log), "\n")
		n.t.Logf("log of %s:\n%s", n.url, strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
}

// startServer starts a server in the process of the test. change may set its options.
func startServer(t testing.TB, change ...func(*server.Options)) *server.Server {
	options := &server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}
	for _, c := range change {
		c(options)
	}
	s, err := server.NewServer(options)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(patience))
	return s
}

// startCluster starts three servers that keep three replicas, and returns their addresses.
func startCluster(t testing.TB, jetstream string) ([]*node, string) {
	ports, err := freeport.Ports(6)
	require.NoError(t, err)
	routes := make([]string, 3)
	for i := range routes {
		routes[i] = fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i])
	}
	nodes, urls := make([]*node, 3), make([]string, 3)
	for i := range nodes {
		nodes[i] = nodeAt(t, ports[i], jetstream, fmt.Sprintf("server_name: n%d\ncluster { name: footfall, listen: 127.0.0.1:%d, routes: [%s] }",
			i, ports[3+i], strings.Join(routes, ", ")))
		urls[i] = nodes[i].url
	}
	all := strings.Join(urls, ",")
	awaitJetStream(t, all)
	return nodes, all
}

// awaitJetStream waits until the servers answer requests of JetStream.
func awaitJetStream(t testing.TB, url string) {
	t.Helper()
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Second))
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err := js.AccountInfo(t.Context()); return err == nil }, patience, 50*time.Millisecond)
}

// freePort returns a port of the loopback interface that is not in use.
func freePort(t testing.TB) int {
	ports, err := freeport.Ports(1)
	require.NoError(t, err)
	return ports[0]
}

func hostPort(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
