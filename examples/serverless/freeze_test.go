//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// edge is a server in front of the API that keeps idle connections for a short time.
type edge struct {
	*httptest.Server
	api    *footfalltest.API
	closed chan struct{}      // receives when a connection is closed
	hold   chan chan struct{} // a request takes a channel from it, and waits until that is closed
	held   chan struct{}      // receives when a request waits
}

func newEdge(t *testing.T) *edge {
	t.Helper()
	e := &edge{
		api: footfalltest.NewAPI(t), closed: make(chan struct{}, 100),
		hold: make(chan chan struct{}, 1), held: make(chan struct{}),
	}
	target, err := url.Parse(e.api.URL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case released := <-e.hold:
			e.held <- struct{}{}
			<-released
		default:
		}
		proxy.ServeHTTP(w, r)
	}))
	e.Config.IdleTimeout = 100 * time.Millisecond
	e.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			e.closed <- struct{}{}
		}
	}
	e.Start()
	t.Cleanup(e.Close)
	return e
}

// function is the running program.
type function struct {
	t       *testing.T
	process *exec.Cmd
	calls   io.WriteCloser
	answers *bufio.Reader
}

// start builds and starts the program.
func start(t *testing.T, e *edge) *function {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "serverless")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), "FOOTFALL_BASE_URL="+e.URL, "FOOTFALL_API_KEY="+footfalltest.Key, "FOOTFALL_SITE_ID="+footfalltest.SiteID)
	cmd.Stderr = os.Stderr
	calls, err := cmd.StdinPipe()
	require.NoError(t, err)
	answers, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &function{t, cmd, calls, bufio.NewReader(answers)}
}

func (f *function) call(order int) {
	f.t.Helper()
	_, err := fmt.Fprintln(f.calls, order)
	require.NoError(f.t, err)
}

func (f *function) answered(order int) {
	f.t.Helper()
	line, err := f.answers.ReadString('\n')
	require.NoError(f.t, err)
	assert.Equal(f.t, fmt.Sprintf("packed %d\n", order), line)
}

// freeze returns when the process has stopped.
func (f *function) freeze() {
	f.t.Helper()
	pid := f.process.Process.Pid
	require.NoError(f.t, f.process.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
	require.NoError(f.t, err)
	require.True(f.t, status.Stopped())
}

func (f *function) thaw() {
	f.t.Helper()
	require.NoError(f.t, f.process.Process.Signal(syscall.SIGCONT))
}

// end ends the program, and checks that the API counted each of the orders once.
func (f *function) end(api *footfalltest.API, orders int) {
	f.t.Helper()
	require.NoError(f.t, f.calls.Close())
	require.NoError(f.t, f.process.Wait())
	events := api.Events()
	require.Len(f.t, events, orders)
	for i, e := range events {
		assert.Equal(f.t, fmt.Sprint(i+1), e.Props["order"])
		assert.Equal(f.t, fmt.Sprintf("https://shop.example.com/orders/%d", i+1), e.URL)
	}
}

func TestAProcessFrozenBetweenCallsLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	f := start(t, e)
	for order := 1; order <= 5; order++ {
		f.call(order)
		f.answered(order)
		require.Len(t, e.api.Events(), order, "Flush returned before the event was counted")
		f.freeze()
		<-e.closed // the process is frozen for longer than the server keeps its connection
		f.thaw()
	}
	f.end(e.api, 5)
	assert.Len(t, e.api.Requests(), 5)
}

func TestAProcessFrozenDuringAnAttemptLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fate     footfalltest.Answer
		requests int
	}{
		"the answer waits in the socket": {footfalltest.Accept(), 2},
		"the answer is lost":             {footfalltest.AcceptThenReset(), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t)
			f := start(t, e)
			e.api.Next(test.fate)
			released := make(chan struct{})
			e.hold <- released
			f.call(1)
			<-e.held
			f.freeze()
			close(released)
			<-e.closed
			f.thaw()
			f.answered(1)
			f.call(2)
			f.answered(2)
			f.end(e.api, 2)
			assert.Len(t, e.api.Requests(), test.requests)
		})
	}
}
