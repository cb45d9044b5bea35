package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
)

// post calls a procedure as a page in a browser would.
func post(t *testing.T, url, product string, want int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`"`+product+`"`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Referer", "https://shop.example.com/socks?token=secret")
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, want, answer.StatusCode)
}

// watchAll calls Watch by gRPC and returns what it sends.
func watchAll(t *testing.T, base, product string) (received []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	client := connect.NewClient[text, text](&http.Client{Transport: transport}, base+watchProcedure, connect.WithGRPC())
	stream, err := client.CallServerStream(ctx, connect.NewRequest(wrapperspb.String(product)))
	require.NoError(t, err)
	for stream.Receive() {
		received = append(received, stream.Msg().GetValue())
	}
	require.NoError(t, stream.Err())
	require.NoError(t, stream.Close())
	return received
}

// address reads the first line, which has the server's.
func address(t *testing.T, out *bufio.Scanner) string {
	t.Helper()
	require.True(t, out.Scan(), "the server said nothing")
	found := regexp.MustCompile(`^listening on (http://127\.0\.0\.1:\d+): `).FindStringSubmatch(out.Text())
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

func TestCallsBecomeEvents(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, "127.0.0.1:0", rules, writer)
		_ = writer.Close() // never fails
	}()
	out := bufio.NewScanner(reader)
	base := address(t, out)
	var lines []string
	read := make(chan struct{})
	go func() { // what is not read holds the server up
		lines = rest(out)
		close(read)
	}()

	post(t, base+addProcedure, "socks", http.StatusOK)
	post(t, base+addProcedure, "", http.StatusBadRequest)
	post(t, base+"/shop.v1.CartService/Secret", "socks", http.StatusNotFound)
	assert.Equal(t, []string{"hats", "hats"}, watchAll(t, base, "hats"))
	stop()

	<-read
	require.NoError(t, <-ended)
	require.NotEmpty(t, lines)
	assert.Equal(t, "delivered 4, lost 0", lines[len(lines)-1])
	assert.ElementsMatch(t, []string{
		"stock_checked " + base + addProcedure + " map[left:3]",
		"added_to_cart https://shop.example.com/socks map[]",
		"watching " + base + watchProcedure + " map[]",
		"cart_watched " + base + watchProcedure + " map[]",
	}, lines[:len(lines)-1])
}

func TestARuleWithoutAProcedureRefusesTheStart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	wrong := footfall.Rule{Route: "/shop.v1.CartService/Remove", Event: "removed_from_cart"}
	err := run(t.Context(), "127.0.0.1:0", append(rules[:1:1], wrong), &out)
	assert.ErrorContains(t, err, `Rule{"/shop.v1.CartService/Remove"}.Route`)
	assert.ErrorContains(t, err, "not registered")
	assert.Empty(t, out.String())
}

func TestAPortInUseIsSaid(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	assert.ErrorContains(t, run(t.Context(), taken.Addr().String(), rules, io.Discard), taken.Addr().String())
}

// program builds the program and returns a command that runs it at most a minute.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	binary := filepath.Join(t.TempDir(), "connect.exe")
	built, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	return exec.CommandContext(ctx, binary, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
}

func TestTheProgramStopsByItselfAndBySIGTERM(t *testing.T) {
	t.Parallel()
	byItself := program(t, "-for", "1ms")
	said, err := byItself.CombinedOutput()
	require.NoError(t, err, string(said))
	assert.Regexp(t, `delivered 0, lost 0\n$`, string(said))
	if runtime.GOOS == "windows" {
		return // it has no SIGTERM to send
	}
	cmd := exec.CommandContext(t.Context(), byItself.Path, "-listen", "127.0.0.1:0", "-for", "1m")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewScanner(stdout)
	base := address(t, out)
	post(t, base+addProcedure, "socks", http.StatusOK)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	lines := rest(out)
	require.NoError(t, cmd.Wait())
	require.Len(t, lines, 3)
	assert.Equal(t, "delivered 2, lost 0", lines[2])
	assert.ElementsMatch(t, []string{
		"stock_checked " + base + addProcedure + " map[left:3]", "added_to_cart https://shop.example.com/socks map[]",
	}, lines[:2])
}
