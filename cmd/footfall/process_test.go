package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/internal/freeport"
	"github.com/footfall-dev/footfall/stream"
)

// patience bounds each wait, also on a busy machine.
const patience = time.Minute

// process is a run of the program that does not end by itself.
type process struct {
	t   *testing.T
	cmd *exec.Cmd

	mu       sync.Mutex
	out, err bytes.Buffer
	ended    chan struct{}
}

// locked is one of the outputs of a process.
type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// begin starts the program. It ends with the test.
func begin(t *testing.T, e env, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), ended: make(chan struct{})}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range e {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = locked{&p.mu, &p.out}, locked{&p.mu, &p.err}
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState has the status
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		if t.Failed() {
			t.Logf("%v: %+v", args, p.said())
		}
	})
	return p
}

// said returns what the process has printed.
func (p *process) said() result {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := -1
	select {
	case <-p.ended:
		status = p.cmd.ProcessState.ExitCode()
	default: // it runs
	}
	return result{p.out.String(), p.err.String(), status}
}

// sees waits until the output matches, and returns the first group.
func (p *process) sees(pattern string) string {
	p.t.Helper()
	want := regexp.MustCompile(pattern)
	var found []string
	require.Eventually(p.t, func() bool {
		said := p.said()
		found = want.FindStringSubmatch(said.out + said.err)
		return found != nil
	}, patience, 10*time.Millisecond, "no %s in the output", pattern)
	return found[len(found)-1]
}

// stop sends SIGTERM and waits for the end.
func (p *process) stop() result {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	return p.wait(20 * time.Second)
}

// wait waits for the end.
func (p *process) wait(limit time.Duration) result {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		require.Fail(p.t, "the process does not end")
	}
	return p.said()
}

// startNATSServer starts a server of NATS that ends with the test. change may set its options.
func startNATSServer(t testing.TB, change ...func(*server.Options)) *server.Server {
	t.Helper()
	options := &server.Options{
		ServerName: "n0", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, NoLog: true, NoSigs: true,
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

// at sets the address of NATS and of the API.
func at(s *server.Server, api *footfalltest.API) env {
	return envOf(api.URL).with("FOOTFALL_NATS_URL", s.ClientURL()).with("FOOTFALL_NATS_REPLICAS", "1")
}

// publish publishes n events named "tested", one after another, and returns when NATS has them.
func publish(t *testing.T, url string, n int, props ...footfall.Prop) {
	t.Helper()
	cfg := footfall.Config{SiteID: footfalltest.SiteID, DefaultURL: "https://example.com/", FlushInterval: time.Millisecond, Logger: (&footfalltest.Log{}).Logger()}
	tracker, err := stream.Open(cfg, stream.Config{URL: url, Replicas: 1})
	require.NoError(t, err)
	for i := range n {
		require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "tested", Props: append(props, footfall.P("n", i))}))
	}
	require.NoError(t, tracker.Close(t.Context()))
	require.EqualValues(t, n, tracker.Stats().Stored)
}

// freeAddress returns an address of the loopback interface that is not in use.
func freeAddress(t *testing.T) string {
	t.Helper()
	ports, err := freeport.Ports(1)
	require.NoError(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
}

// portOf returns the port of an address.
func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	return port
}
