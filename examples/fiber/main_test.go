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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// visit makes one request.
func visit(t *testing.T, method, url string, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, status, answer.StatusCode)
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

func TestVisitsBecomeEvents(t *testing.T) {
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

	visit(t, "GET", base+"/products/7?utm_source=radio&token=secret", http.StatusOK)
	visit(t, "POST", base+"/api/checkout", http.StatusCreated)
	visit(t, "GET", base+"/secret/path", http.StatusNotFound)
	stop()

	<-read
	require.NoError(t, <-ended)
	require.NotEmpty(t, lines)
	assert.Equal(t, "delivered 3, lost 0", lines[len(lines)-1])
	assert.ElementsMatch(t, []string{
		"stock_checked " + base + "/products/7?utm_source=radio map[left:3]",
		"product_viewed " + base + "/products/7?utm_source=radio map[id:7]",
		"checkout_completed " + base + "/api/checkout map[]",
	}, lines[:len(lines)-1])
}

func TestARuleWithoutARouteRefusesTheStart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	wrong := footfall.Rule{Route: "GET /products/:slug", Event: "product_viewed"}
	err := run(t.Context(), "127.0.0.1:0", append(rules[:1:1], wrong), &out)
	assert.ErrorContains(t, err, `Rule{"GET /products/:slug"}.Route`)
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
	binary := filepath.Join(t.TempDir(), "fiber.exe")
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
	visit(t, "POST", address(t, out)+"/api/checkout", http.StatusCreated)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	lines := rest(out)
	require.NoError(t, cmd.Wait())
	require.Len(t, lines, 2)
	assert.Regexp(t, `^checkout_completed http://127\.0\.0\.1:\d+/api/checkout map\[\]$`, lines[0])
	assert.Equal(t, "delivered 1, lost 0", lines[1])
}
