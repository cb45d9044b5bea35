package main

import (
	"bufio"
	"context"
	"errors"
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

	"github.com/footfall-dev/footfall/collector/store"
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
	if testing.Short() {
		t.Skip("a fleet takes half a minute; not with -short")
	}
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

func TestWrongFlagsAreOneClearLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown flag":     {"-port", "80"},
		"no traffic":       {"-traffic", "0"},
		"too much traffic": {"-traffic", "1000000"},
		"too short":        {"-for", "1s"},
		"no flag":          {"now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), args, io.Discard)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"-h"}, &out))
	assert.Contains(t, out.String(), "-traffic")
}

// numbered is an event of the collector.
func numbered(n int) store.Event {
	return store.Event{Name: "product_viewed", URL: withNumber("https://shop.example.com/products/cloud-mug", n)}
}

func TestAnEventHasANumber(t *testing.T) {
	t.Parallel()
	page := withNumber("https://shop.example.com/checkout", 12_034)
	assert.Equal(t, 12_034, numberOf("checkout_started", page))
	assert.Equal(t, 12_034, numberOf("order_placed", page))
	assert.Equal(t, 12_035, numberOf("checkout_completed", page), "of the same request")
	assert.Equal(t, -1, numberOf("checkout_completed", "https://shop.example.com/checkout"))
	assert.Equal(t, -1, numberOf("basket_viewed", page), "customers do not look")
	assert.Equal(t, 12_034, numberIn("stored 12034", "stored "))
	assert.Equal(t, -1, numberIn("12034", "stored "))
}

// ledgerOf returns the ledger of five events: one is fine; one was sent again and counted once;
// one of a killed shop was never Stored; one was not answered but arrived; one was not answered.
func ledgerOf() *ledger {
	a := &ledger{newest: -1}
	lives, dead := a.newRow("shop-1"), a.newRow("shop-2")
	for _, r := range []*row{lives, lives, dead, dead, dead} {
		a.send(r, 1)
	}
	for _, n := range []int{0, 1, 2} {
		a.update(n, func(e *event) { e.answered = true })
	}
	a.update(0, func(e *event) { e.stored = true })
	a.end(dead, true)
	for _, n := range []int{0, 1, 1, 3} {
		a.arrive(numbered(n))
	}
	for _, n := range []int{0, 1, 3} {
		a.count(numbered(n))
	}
	return a
}

func TestTheAccountTellsLossesApart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, ledgerOf().print(&out))
	assert.Equal(t, `
                   tracked    Stored   arrived     twice      lost
shop-1                   2         2         2         0         0
shop-2, killed           2         1         1         0         1
all                      4         3         3         0         1

Stored and missing: 0. Counted twice: 0. Sent again, counted once: 1.
Lost before they were Stored, in the queue of the killed shop: 1.
Events of requests that got no answer from a shop: 2.
`, out.String())
}

func TestTheDocsShowTheAccount(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/stream.md")
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, ledgerOf().print(&out))
	for line := range strings.SplitSeq(out.String(), "\n") {
		assert.Contains(t, withoutFigures(string(docs)), withoutFigures(line))
	}
}

// withoutFigures replaces numbers and the spaces before them.
func withoutFigures(text string) string {
	return regexp.MustCompile(` *\d+`).ReplaceAllString(text, " 0")
}

func TestTheAccountFailsForWhatMustNotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a *ledger)
		want   string
	}{
		"a Stored event of a killed shop is missing": {
			func(a *ledger) { a.update(2, func(e *event) { e.stored = true }) }, "events that were Stored and are missing: 1",
		},
		"an event was counted twice": {func(a *ledger) { a.count(numbered(1)) }, "events that were counted twice: 1"},
		"a shop that lives lost an event": {
			func(a *ledger) { a.update(1, func(e *event) { e.arrived, e.counted = false, 0 }) }, "events that shops lost which were not killed: 1",
		},
		"an event has an unknown number": {func(a *ledger) { a.count(numbered(99)) }, "there is no event 99"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ledgerOf()
			c.change(a)
			assert.EqualError(t, a.print(io.Discard), c.want)
		})
	}
}

func TestEventsUnderWayAreThoseThatWillArrive(t *testing.T) {
	t.Parallel()
	a := ledgerOf()
	assert.Zero(t, a.underWay(4))
	a.update(2, func(e *event) { e.stored = true })
	assert.Equal(t, 1, a.underWay(4))
	assert.Zero(t, a.underWay(1), "number 2 is later")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.True(t, errors.Is(a.awaitUpTo(ctx, 4), context.DeadlineExceeded))
	a.arrive(numbered(2))
	require.NoError(t, a.awaitUpTo(t.Context(), 4))
	require.NoError(t, a.awaitNewer(t.Context(), 2))
}
