//go:build ci && linux

package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ledgerSize is more events than a caller tracks before it is killed.
const ledgerSize = 1 << 17

const (
	callerWarm = 500 * time.Millisecond  // before it is measured
	callerLife = 1500 * time.Millisecond // on average; at least half of it
)

// caller is a running program of folder caller, with its own API and ledger.
type caller struct {
	t      *testing.T
	api    *distantAPI
	ledger string
	dir    string // of its spool
	cmd    *exec.Cmd
}

// killCost is the number of events that one kill cost, and the resources that the process
// had used.
type killCost struct {
	accepted int
	waiting  int // accepted, but not in a file, and no request has arrived at the API
	inFlight int // arrived and not answered at the kill: lost if the API gives up such requests
	conns    int
	cpu      float64 // of one core
	wakes    float64 // of threads, a second
}

func startCaller(t *testing.T, s setting) *caller {
	t.Helper()
	path, err := callerBinary()
	require.NoError(t, err)
	c := &caller{t: t, api: newDistantAPI(t, s.latency), ledger: filepath.Join(t.TempDir(), "ledger")}
	require.NoError(t, os.WriteFile(c.ledger, make([]byte, ledgerSize), 0o600))
	flags := []string{"-api", c.api.url, "-ledger", c.ledger, "-rate", strconv.Itoa(s.rate),
		"-interval", s.interval.String(), "-inflight", strconv.Itoa(s.inFlight)}
	if s.spool {
		c.dir = t.TempDir()
		flags = append(flags, "-dir", c.dir)
	}
	c.cmd = exec.CommandContext(t.Context(), path, flags...)
	c.cmd.Stderr = os.Stderr
	_, err = c.cmd.StdinPipe() // the caller ends when it is closed
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return c
}

// live lets the caller run for a while, kills it, and counts the lost events.
func (c *caller) live() (cost killCost, err error) {
	time.Sleep(callerWarm)
	began, before := time.Now(), usageOf(c.cmd.Process.Pid)
	time.Sleep(callerLife/2 + rand.N(callerLife))
	after, seconds := usageOf(c.cmd.Process.Pid), time.Since(began).Seconds()
	if err := c.cmd.Process.Kill(); err != nil {
		return cost, err
	}
	answered := c.api.answeredNow()
	_ = c.cmd.Wait() // it was killed
	cost.conns = int(c.api.conns.Load())
	if err := c.api.drain(); err != nil {
		return cost, err
	}
	accepted, err := os.ReadFile(c.ledger)
	if err != nil {
		return cost, err
	}
	if c.dir != "" {
		for _, n := range drained(c.t, c.dir) {
			answered[n] = true
		}
	}
	for n, yes := range accepted {
		switch {
		case yes == 0:
			continue
		case answered[n]:
		case c.api.arrived[n].Load():
			cost.inFlight++
		default:
			cost.waiting++
		}
		cost.accepted++
	}
	cost.cpu = (after.cpu - before.cpu).Seconds() / seconds
	cost.wakes = float64(after.wakes-before.wakes) / seconds
	return cost, nil
}

// callerBinary builds the program on its first call, without the race detector.
var callerBinary func() (string, error)

// usage is the processor time of a process, and how often its threads were woken.
type usage struct {
	cpu   time.Duration
	wakes int
}

// usageOf reads /proc, which has both for each thread. A thread that has ended counts zero.
func usageOf(pid int) (u usage) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // a pattern that is right
	for _, task := range tasks {
		ran, _ := os.ReadFile(filepath.Join(task, "schedstat"))
		ns, _, _ := strings.Cut(string(ran), " ")
		n, _ := strconv.ParseInt(ns, 10, 64)
		u.cpu += time.Duration(n)
		status, _ := os.ReadFile(filepath.Join(task, "status"))
		_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		number, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		wakes, _ := strconv.Atoi(number)
		u.wakes += wakes
	}
	return u
}

// distantAPI is an API that delays each answer. It counts arrived and answered events
// separately.
type distantAPI struct {
	url               string
	latency           time.Duration
	arrived, answered [ledgerSize]atomic.Bool
	conns             atomic.Int64
	open              sync.WaitGroup // the connections
}

func newDistantAPI(t *testing.T, latency time.Duration) *distantAPI {
	t.Helper()
	a := &distantAPI{latency: latency}
	server := httptest.NewUnstartedServer(http.HandlerFunc(a.take))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			a.conns.Add(1)
			a.open.Add(1)
		case http.StateClosed:
			a.open.Done()
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

func (a *distantAPI) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	_, rest, _ := bytes.Cut(body, []byte(`"n":`))
	number, _, _ := bytes.Cut(rest, []byte(","))
	n, bad := strconv.Atoi(string(number))
	if err != nil || bad != nil {
		return // cut off by the kill
	}
	a.arrived[n].Store(true)
	time.Sleep(a.latency)
	a.answered[n].Store(true)
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"accepted":true}`) // the caller may be dead
}

// drain waits until the API has read everything that a killed caller sent. The server accepts
// connections in their order, so when it has answered one more request, it has accepted all
// connections of the caller. Each of them closes at its end.
func (a *distantAPI) drain() error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(a.url)
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // it is empty
	a.open.Wait()
	return nil
}

func (a *distantAPI) answeredNow() []bool {
	answered := make([]bool, ledgerSize)
	for n := range answered {
		answered[n] = a.answered[n].Load()
	}
	return answered
}
