package main

import (
	"bufio"
	"context"
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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
)

// dial returns a connection for one test.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

func call(t *testing.T, conn *grpc.ClientConn, method, product string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	answer := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, "/shop.v1.CartService/"+method, wrapperspb.String(product), answer)
	return answer.GetValue(), err
}

// watchAll calls Watch and returns what it sends.
func watchAll(t *testing.T, conn *grpc.ClientConn, product string) (received []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stream, err := conn.NewStream(ctx, &cartService.Streams[0], "/shop.v1.CartService/Watch")
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(wrapperspb.String(product)))
	require.NoError(t, stream.CloseSend())
	for {
		message := new(wrapperspb.StringValue)
		err := stream.RecvMsg(message)
		if err == io.EOF {
			return received
		}
		require.NoError(t, err)
		received = append(received, message.GetValue())
	}
}

// address reads the first line, which has the server's.
func address(t *testing.T, out *bufio.Scanner) string {
	t.Helper()
	require.True(t, out.Scan(), "the server said nothing")
	found := regexp.MustCompile(`^listening on (127\.0\.0\.1:\d+) `).FindStringSubmatch(out.Text())
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
		ended <- run(ctx, "127.0.0.1:0", false, rules, writer)
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

	conn := dial(t, server)
	answer, err := call(t, conn, "Add", "socks")
	require.NoError(t, err)
	assert.Equal(t, "socks, 3 left", answer)
	_, err = call(t, conn, "Add", "")
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = call(t, conn, "Secret", "socks")
	assert.Equal(t, codes.Unimplemented, status.Code(err))
	assert.Equal(t, []string{"hats", "hats"}, watchAll(t, conn, "hats"))
	stop()

	<-read
	require.NoError(t, <-ended)
	require.NotEmpty(t, lines)
	assert.Equal(t, "delivered 4, lost 0", lines[len(lines)-1])
	page := "http://" + server + "/shop.v1.CartService/"
	assert.ElementsMatch(t, []string{
		"stock_checked " + page + "Add map[left:3]",
		"added_to_cart " + page + "Add map[]",
		"watching " + page + "Watch map[]",
		"cart_watched " + page + "Watch map[]",
	}, lines[:len(lines)-1])
}

func TestARuleWithoutAMethodRefusesTheStart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	wrong := footfall.Rule{Route: "/shop.v1.CartService/Remove", Event: "removed_from_cart"}
	err := run(t.Context(), "127.0.0.1:0", false, append(rules[:1:1], wrong), &out)
	assert.ErrorContains(t, err, `Rule{"/shop.v1.CartService/Remove"}.Route`)
	assert.ErrorContains(t, err, "not registered")
	assert.Empty(t, out.String())
}

func TestAPortInUseIsSaid(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	assert.ErrorContains(t, run(t.Context(), taken.Addr().String(), false, rules, io.Discard), taken.Addr().String())
}

// program builds the program and returns a command that runs it at most a minute.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	binary := filepath.Join(t.TempDir(), "grpc.exe")
	built, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	return exec.CommandContext(ctx, binary, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
}

func TestTheProgramStopsByItselfAndBySIGTERM(t *testing.T) {
	t.Parallel()
	byItself := program(t, "-for", "1ms", "-customer=false")
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
	page := "http://" + address(t, out) + "/shop.v1.CartService/Add"
	var lines []string
	for range 2 {
		require.True(t, out.Scan(), "the customer's events arrive while the server runs")
		lines = append(lines, out.Text())
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, []string{"delivered 2, lost 0"}, rest(out))
	require.NoError(t, cmd.Wait())
	assert.ElementsMatch(t, []string{"stock_checked " + page + " map[left:3]", "added_to_cart " + page + " map[]"}, lines)
}
