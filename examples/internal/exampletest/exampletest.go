// Package exampletest runs the programs below examples/ that are servers with one of
// the adapters, in the test's process and in a separate process.
package exampletest

import (
	"bufio"
	"cmp"
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

// Program is an example; the test is in its package main. It prints the address that it
// listens on, then each event as it arrives, and at the end the number of delivered and
// lost events.
type Program struct {
	// Run is the program without its flags, until ctx ends.
	Run func(ctx context.Context, address string, rules []footfall.Rule, out io.Writer) error

	// Rules are the program's. Unknown is a route that the program does not have: it must
	// refuse a rule for it. Refusal is a part of the error; empty means "not registered".
	Rules            []footfall.Rule
	Unknown, Refusal string

	// Visit makes requests of every kind, and returns the expected lines of their events.
	// Buy makes a request that becomes at least one event.
	Visit, Buy func(t *testing.T, address string) (events []string)

	// Watch opens a stream that is open until the program or the test ends. It returns when
	// the stream has begun, with the lines of its events. It is nil if the program does not
	// use Tracker.Run, because its framework stops the server.
	Watch func(t *testing.T, address string) (events []string)

	// Customer is set if the program simulates a customer, whose events Buy returns.
	// The flag -customer=false turns the customer off.
	Customer bool

	binary string // which Run builds
}

// rows are the tests that every example passes.
var rows = []struct {
	name    string
	run     func(*testing.T, Program)
	watches bool
}{
	{"visits become events", visitsBecomeEvents, false},
	{"a rule without a route refuses the start", unknownRouteRefusesTheStart, false},
	{"a port in use is reported", portInUseIsReported, false},
	{"the program stops by itself", programStopsByItself, false},
	{"the program stops by SIGTERM", programStopsBySIGTERM, false},
	{"open streams cost no events", openStreamsCostNoEvents, true},
}

// Run runs all tests of an example.
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
	go func() { // unread output would block the server
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
	assert.ErrorContains(t, err, cmp.Or(p.Refusal, "not registered"))
	assert.Empty(t, out.String())
}

func portInUseIsReported(t *testing.T, p Program) {
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

// streams is the number of open streams when the program is told to stop. Shutdown waits for
// them until its deadline; the handlers track their events when the connections are closed.
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
