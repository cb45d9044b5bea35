package lean_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// serverEnv turns the test binary into a server, so that allocations and processor time are the
// client's only. serverCPU names the core of the server.
const (
	serverEnv = "LEAN_TEST_SERVER"
	serverCPU = "LEAN_TEST_SERVER_CPU"
)

// startServer starts a process that accepts every event as fast as it can.
func startServer(tb testing.TB) (addr string) {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.Command(self)
	if cpu := os.Getenv(serverCPU); cpu != "" {
		cmd = exec.Command("taskset", "-c", cpu, self)
	}
	cmd.Env = append(os.Environ(), serverEnv+"=1")
	stdin, err := cmd.StdinPipe() // the server ends when this is closed
	require.NoError(tb, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	addr, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(tb, err)
	return strings.TrimSpace(addr)
}

// serve runs the server of startServer.
func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go acceptAll(conn)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
}

var acceptance = []byte("HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 17\r\nDate: Sat, 02 Jan 1999 15:04:05 GMT\r\n\r\n{\"accepted\":true}")

func acceptAll(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, 64<<10)
	for have := 0; ; {
		n, err := conn.Read(buf[have:])
		if err != nil {
			return
		}
		for have += n; ; {
			size := requestSize(buf[:have])
			if size == 0 {
				break
			}
			have = copy(buf, buf[size:have])
			if _, err := conn.Write(acceptance); err != nil {
				return
			}
		}
	}
}

// requestSize returns 0 if the request is incomplete.
func requestSize(b []byte) int {
	head := bytes.Index(b, []byte("\r\n\r\n"))
	if head < 0 {
		return 0
	}
	_, length, _ := bytes.Cut(b[:head], []byte("Content-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r"))
	n, _ := strconv.Atoi(string(length))
	if size := head + 4 + n; size <= len(b) {
		return size
	}
	return 0
}
