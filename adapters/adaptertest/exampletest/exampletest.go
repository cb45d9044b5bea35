// Package exampletest runs the programs below examples/ that are servers with one of
// the adapters: as a function in the test's process, and as a program in its own.
package exampletest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

	"github.com/footfall-dev/footfall"
)

// Program is an example whose package main a test is in. It says where it listens in
// its first line, prints each event as it arrives, and last what became of all.
type Program struct {
	// Run is the program without its flags, until ctx ends.
	Run func(ctx context.Context, address string, rules []footfall.Rule, out io.Writer) error

	// Rules are the program's. Unknown is the route of a rule that it must refuse,
	// for it has no such route.
	Rules   []footfall.Rule
	Unknown string

	// Visit makes some of every kind of request, and returns the lines of the events
	// that they are to become. Buy makes one that becomes an event at least.
	Visit, Buy func(t *testing.T, address string) (events []string)

	// Watch opens a stream that is open until the program or the test ends, and returns when
	// its beginning has come, with the lines of its events. It is nil if the program does not
	// use Tracker.Run, because its framework stops the server.
	Watch func(t *testing.T, address string) (events []string)

	// Customer is set if a customer comes by itself, for whom Buy knows the events.
	// The flag -customer=false keeps such a customer away.
	Customer bool

	binary string // which Run builds
}

// rows are what is promised of every example.
var rows = []struct {
	name    string
	run     func(*testing.T, Program)
	watches bool
}{
	{"visits become events", visitsBecomeEvents, false},
	{"a rule without a route refuses the start", unknownRouteRefusesTheStart, false},
	{"a port in use is said", portInUseIsSaid, false},
	{"the program stops by itself", programStopsByItself, false},
	{"the program stops by SIGTERM", programStopsBySIGTERM, false},
	{"open streams cost no events", openStreamsCostNoEvents, true},
}

// Run holds an example to all of it.
func Run(t *testing.T, p Program) {
	t.Helper()
	p.binary = filepath.Join(t.TempDir(), "example.exe")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	for _, r := range rows {
		if r.watches && p.Watch == nil {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t, p)
		})
	}
}

// patience bounds each run of a program.
const patience = 30 * time.Second

// address reads the first line, which has the server's.
func address(t *testing.T, out *bufio.Scanner) string {
	t.Helper()
	require.True(t, out.Scan(), "the server said nothing")
	found := regexp.MustCompile(`^listening on ((?:http://)?127\.0\.0\.1:\d+)[: ]`).FindStringSubmatch(out.Text())
	require.NotNil(t, found, out.Text())
	return found[1]
}

// rest reads the lines that are left.
func rest(out *bufio.Scanner) (lines []string) {
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	return lines
}

// expectLines compares what a program printed: the events in any order, and the account.
func expectLines(t *testing.T, events, lines []string) {
	t.Helper()
	require.NotEmpty(t, lines)
	assert.Equal(t, account(len(events)), lines[len(lines)-1])
	assert.ElementsMatch(t, events, lines[:len(lines)-1])
}

func account(delivered int) string { return fmt.Sprintf("delivered %d, lost 0", delivered) }

func visitsBecomeEvents(t *testing.T, p Program) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- p.Run(ctx, "127.0.0.1:0", p.Rules, writer)
		_ = writer.Close() // never fails
	}()
	out := bufio.NewScanner(reader)
	server := address(t, out)
	var lines []string
	read := make(chan struct{})
	go func() { // what is not read holds the server up
		lines = rest(out)
		close(read)
	}()
	want := p.Visit(t, server)
	stop()
	<-read
	require.NoError(t, <-ended)
	expectLines(t, want, lines)
}

func unknownRouteRefusesTheStart(t *testing.T, p Program) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var out strings.Builder
	wrong := footfall.Rule{Route: p.Unknown, Event: "product_viewed"}
	err := p.Run(ctx, "127.0.0.1:0", append(p.Rules[:1:1], wrong), &out)
	assert.ErrorContains(t, err, `Rule{"`+p.Unknown+`"}.Route`)
	assert.ErrorContains(t, err, "not registered")
	assert.Empty(t, out.String())
}

func portInUseIsSaid(t *testing.T, p Program) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	assert.ErrorContains(t, p.Run(ctx, taken.Addr().String(), p.Rules, io.Discard), taken.Addr().String())
}

// command runs the program on any free port.
func (p Program) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, p.binary, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
}

func programStopsByItself(t *testing.T, p Program) {
	args := []string{"-for", "1ms"}
	if p.Customer {
		args = append(args, "-customer=false")
	}
	said, err := p.command(t, args...).CombinedOutput()
	require.NoError(t, err, string(said))
	assert.True(t, strings.HasSuffix("\n"+string(said), "\n"+account(0)+"\n"), string(said)) // it may not have listened
}

func programStopsBySIGTERM(t *testing.T, p Program) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM to send")
	}
	cmd := p.command(t, "-for", "1m")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewScanner(stdout)
	want := p.Buy(t, address(t, out))
	var lines []string
	for p.Customer && len(lines) < len(want) {
		require.True(t, out.Scan(), "the customer's events arrive while the server runs")
		lines = append(lines, out.Text())
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	lines = append(lines, rest(out)...)
	require.NoError(t, cmd.Wait())
	expectLines(t, want, lines)
}

// streams is how many are open when the program is told to stop. Shutdown waits for them in
// vain; their handlers track their events when their connections are closed.
const streams = 50

func openStreamsCostNoEvents(t *testing.T, p Program) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM to send")
	}
	args := []string{"-for", "1m"}
	if p.Customer {
		args = append(args, "-customer=false")
	}
	cmd := p.command(t, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewScanner(stdout)
	server := address(t, out)
	var want []string
	for range streams {
		want = append(want, p.Watch(t, server)...)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	expectLines(t, want, rest(out))
	_, failed := errors.AsType[*exec.ExitError](cmd.Wait())
	assert.True(t, failed, "the program says that it has cut the streams off")
	assert.Contains(t, errs.String(), "has not answered all requests in 2s")
}
