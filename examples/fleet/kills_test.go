//go:build ci

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is a running fleet.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	binary string
	temp   string // its directory for temporary files
	stdout io.ReadCloser
	out    *bufio.Scanner
	lines  []string
	errs   strings.Builder
}

// start builds and starts the fleet. It is interrupted if the test takes two minutes.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	p := &program{t: t, binary: filepath.Join(t.TempDir(), "fleet.exe"), temp: t.TempDir()}
	built, err := exec.CommandContext(ctx, "go", "build", "-o", p.binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	p.cmd = exec.CommandContext(ctx, p.binary, args...)
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.temp, "TMP="+p.temp)
	p.cmd.Stderr = &p.errs
	p.stdout, err = p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	p.out = bufio.NewScanner(p.stdout)
	return p
}

// line reads to the next line that contains the text.
func (p *program) line(text string) {
	p.t.Helper()
	for p.out.Scan() {
		p.lines = append(p.lines, p.out.Text())
		if strings.Contains(p.out.Text(), text) {
			return
		}
	}
	p.t.Fatalf("no line has %q in:\n%s\n%s", text, strings.Join(p.lines, "\n"), p.errs.String())
}

// end reads the rest, and returns the whole output when the program has ended.
func (p *program) end() (string, error) {
	for p.out.Scan() {
		p.lines = append(p.lines, p.out.Text())
	}
	err := p.cmd.Wait()
	p.t.Logf("%s\n%s", strings.Join(p.lines, "\n"), p.errs.String())
	return strings.Join(p.lines, "\n"), err
}

// nothingRuns waits until no process of the fleet is left. A shop whose NATS servers have ended,
// too, tries to publish until closeTimeout.
func (p *program) nothingRuns() {
	p.t.Helper()
	if runtime.GOOS != "linux" {
		return // there is no /proc
	}
	require.Eventually(p.t, func() bool { return len(p.running()) == 0 }, stopTimeout, 50*time.Millisecond, "processes of the fleet are left")
}

func (p *program) running() (left []string) {
	processes, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(p.t, err)
	for _, exe := range processes {
		if binary, err := os.Readlink(exe); err == nil && binary == p.binary { // others have ended or are not ours
			left = append(left, exe)
		}
	}
	return left
}

func (p *program) noFilesAreLeft() {
	p.t.Helper()
	left, err := os.ReadDir(p.temp)
	require.NoError(p.t, err)
	assert.Empty(p.t, left)
}

func TestAFleetLosesNothingThatIsStored(t *testing.T) {
	t.Parallel()
	p := start(t, "-for", "6s", "-traffic", "40")
	out, err := p.end()
	require.NoError(t, err)
	assert.Regexp(t, `killed nats-[123], the leader of the stream\n.* delivery goes on after \d`, out)
	assert.Regexp(t, `killed shop-[1-5]\n.* delivery goes on after \d`, out)
	assert.Regexp(t, `killed relay-[12]\n.* delivery goes on after \d`, out)
	assert.Regexp(t, `(?m)^Stored and missing: 0\. Counted twice: 0\.`, out)
	sums := regexp.MustCompile(`(?m)^all +(\d{4,}) +(\d{4,}) +(\d{4,}) +0 +\d+$`).FindStringSubmatch(out)
	require.NotNil(t, sums, out)
	assert.Equal(t, sums[2], sums[3], "Stored, arrived")
	p.nothingRuns()
	p.noFilesAreLeft()
}

func TestAnInterruptEndsAllProcesses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGINT to send")
	}
	for when, line := range map[string]string{"at the start": "starting", "under traffic": "customers a second"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.line(line)
			time.Sleep(time.Second) // some processes have started, or some customers came
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
			out, err := p.end()
			if when == "at the start" {
				require.Error(t, err)
				assert.Contains(t, p.errs.String(), "fleet: interrupted before the first customer")
			} else {
				require.NoError(t, err)
				assert.Contains(t, out, "Stored and missing: 0. Counted twice: 0.")
			}
			p.nothingRuns()
			p.noFilesAreLeft()
		})
	}
}

func TestAClosedOutputEndsAllProcesses(t *testing.T) {
	t.Parallel()
	p := start(t, "-for", "8s")
	p.line("customers a second")
	require.NoError(t, p.stdout.Close())
	_ = p.cmd.Wait() // with any status
	p.nothingRuns()
	p.noFilesAreLeft()
}

func TestProcessesEndWithAFleetThatIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "-data", dir)
	p.line("customers a second")
	require.NoError(t, p.cmd.Process.Kill())
	_, err := p.end()
	require.Error(t, err)
	p.nothingRuns()
	_, err = parseAndPrepare("-data", dir)
	require.ErrorContains(t, err, "not empty")
}

func parseAndPrepare(args ...string) (func() error, error) {
	o, err := parseOptions(args, io.Discard)
	if err != nil {
		return nil, err
	}
	return o.prepareDir()
}
