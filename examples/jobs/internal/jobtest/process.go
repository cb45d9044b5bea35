//go:build ci

package jobtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// patience bounds each wait, also on a busy machine.
const patience = time.Minute

// process is a worker.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	answers io.WriteCloser
	lines   chan string // of its standard output; closed at its end
	errs    strings.Builder
}

func startWorker(t *testing.T, address string, api *footfalltest.API) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), self), lines: make(chan string, 100)}
	p.cmd.Env = append(os.Environ(), serverVar+"="+address, apiVar+"="+api.URL)
	p.cmd.Stderr = &p.errs
	p.answers, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// says waits for the next line, which has to be one of want, and returns it. An ended process says "".
func (p *process) says(want ...string) string {
	p.t.Helper()
	select {
	case line := <-p.lines:
		require.Contains(p.t, want, line)
		return line
	case <-time.After(patience):
		require.Fail(p.t, "the worker says nothing", "%q", want)
		return ""
	}
}

func (p *process) answer(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.answers, text+"\n")
	require.NoError(p.t, err)
}

func (p *process) terminate() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// kill ends the process with SIGKILL, unless it has ended.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill()
	for range p.lines {
	}
	_ = p.cmd.Wait() // it was killed
	if p.t.Failed() {
		p.t.Log(p.errs.String())
	}
}

// ends waits for the end, and returns what the process said on its standard error, and whether it has failed.
func (p *process) ends() (said string, failed bool) {
	for range p.lines {
	}
	err := p.cmd.Wait()
	return p.errs.String(), err != nil
}
