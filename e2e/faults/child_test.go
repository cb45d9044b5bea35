//go:build ci && linux

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

// patience bounds each wait.
const patience = 90 * time.Second

// child is a running application, the program in folder child.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  chan string   // lines other than acknowledgements
	ended chan struct{} // closed when its output has ended

	mu      sync.Mutex
	log     bytes.Buffer        // its standard error
	durable []int64             // numbers that TrackDurable acknowledged
	plain   map[int64]time.Time // numbers that Track acknowledged, and when
}

// report is what a child says of itself.
type report struct {
	Tracker  footfall.Stats
	Spool    spool.Stats
	PeakKiB  int
	Failures int // requests, if they are counted
}

// start runs a child with these flags.
func start(t *testing.T, flags ...string) *child {
	t.Helper()
	c, err := tryStart(t, nil, flags...)
	require.NoError(t, err)
	return c
}

// tryStart is start in separate namespaces, which the machine may not allow.
func tryStart(t *testing.T, namespaces *syscall.SysProcAttr, flags ...string) (*child, error) {
	t.Helper()
	path, err := childBinary()
	require.NoError(t, err)
	c := &child{
		t: t, cmd: exec.CommandContext(t.Context(), path, flags...),
		said: make(chan string, 1000), ended: make(chan struct{}), plain: make(map[int64]time.Time),
	}
	c.cmd.SysProcAttr = namespaces
	c.cmd.Stderr = c
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.listen(out)
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.kill()
		}
		if t.Failed() {
			t.Logf("the log of child %d:\n%s", c.cmd.Process.Pid, c.logged())
		}
	})
	return c, nil
}

// Write receives the child's log.
func (c *child) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(p)
}

func (c *child) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

func (c *child) listen(out io.Reader) {
	defer close(c.ended)
	defer close(c.said)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		number, when, _ := strings.Cut(rest, " ")
		n, _ := strconv.ParseInt(number, 10, 64) // zero for lines of another kind
		at, _ := strconv.ParseInt(when, 10, 64)
		switch kind {
		case "durable":
			c.acknowledged(func() { c.durable = append(c.durable, n) })
		case "plain":
			c.acknowledged(func() { c.plain[n] = time.Unix(0, at) })
		default:
			c.said <- lines.Text()
		}
	}
}

func (c *child) acknowledged(note func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	note()
}

// numbers returns how many events were accepted so far.
func (c *child) numbers() (durable, plain int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.durable), len(c.plain)
}

// kill ends the child with a signal that a process cannot handle.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // SIGKILL; it may have ended
	<-c.ended
	_ = c.cmd.Wait() // it was killed
}

// tell writes a line that the child obeys.
func (c *child) tell(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.stdin, line+"\n")
	require.NoError(c.t, err)
}

// expect waits for a line with this beginning and returns the rest.
func (c *child) expect(beginning string) string {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-c.said:
			if rest, found := strings.CutPrefix(line, beginning); found {
				return strings.TrimSpace(rest)
			}
			if !ok {
				require.Failf(c.t, "the child has ended", "before it said %q: %s", beginning, c.logged())
			}
		case <-timeout:
			_ = c.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines say where they are
			<-c.ended
			require.Failf(c.t, "the child is silent", "it never said %q: %s", beginning, c.logged())
		}
	}
}

// ask returns the child's report.
func (c *child) ask() report {
	c.t.Helper()
	c.tell("report")
	return c.report()
}

// until asks for reports until good returns true.
func (c *child) until(good func(report) bool) (r report) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if r = c.ask(); good(r) {
			return r
		}
	}
	require.Failf(c.t, "the child never came to the state", "its last report: %+v", r)
	return r
}

func (c *child) report() (r report) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.expect("report ")), &r))
	return r
}

// flush waits until the child has delivered everything.
func (c *child) flush() {
	c.t.Helper()
	c.tell("flush")
	require.Equal(c.t, "<nil>", c.expect("flushed"))
}

// end lets the child close its tracker and returns its last report.
func (c *child) end() report {
	c.t.Helper()
	require.NoError(c.t, c.stdin.Close())
	r := c.report()
	require.Equal(c.t, "<nil>", c.expect("closed"))
	<-c.ended
	require.NoError(c.t, c.cmd.Wait())
	return r
}
