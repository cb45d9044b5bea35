package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
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

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// program is the example in a child process.
type program struct {
	*exec.Cmd
	t    *testing.T
	out  *bufio.Scanner
	errs *strings.Builder
	url  string
}

// start builds the program and runs it for this API at most a minute.
func start(t *testing.T, api *footfalltest.API, args ...string) *program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM to send")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	binary := filepath.Join(t.TempDir(), "graceful")
	built, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	cmd := exec.CommandContext(ctx, binary, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(),
		"FOOTFALL_BASE_URL="+api.URL, "FOOTFALL_API_KEY="+footfalltest.Key, "FOOTFALL_SITE_ID="+footfalltest.SiteID)
	p := &program{Cmd: cmd, t: t, errs: new(strings.Builder)}
	cmd.Stderr = p.errs
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p.out = bufio.NewScanner(stdout)
	require.True(t, p.out.Scan(), "the program ended without an address")
	p.url = regexp.MustCompile(`http://[0-9.:]+\d`).FindString(p.out.Text())
	require.NotEmpty(t, p.url, p.out.Text())
	return p
}

// signUp makes n events.
func (p *program) signUp(n int) {
	p.t.Helper()
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for range n {
		answer, err := client.Post(p.url+"/signup", "", nil)
		require.NoError(p.t, err)
		_, err = io.ReadAll(answer.Body)
		require.NoError(p.t, err)
		require.NoError(p.t, answer.Body.Close())
		require.Equal(p.t, http.StatusOK, answer.StatusCode)
	}
}

// openStream returns a stream of the program that does not end.
func (p *program) openStream() io.Reader {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/news", nil)
	require.NoError(p.t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	stream, err := transport.RoundTrip(r)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = stream.Body.Close() }) // it has ended by then
	reader := bufio.NewReader(stream.Body)
	line, err := reader.ReadString('\n')
	require.NoError(p.t, err)
	require.Equal(p.t, "data: nothing yet\n", line)
	return reader
}

// terminate sends SIGTERM.
func (p *program) terminate() {
	p.t.Helper()
	require.NoError(p.t, p.Process.Signal(syscall.SIGTERM))
}

// lines returns what the program prints until it ends.
func (p *program) lines() (lines []string) {
	for p.out.Scan() {
		lines = append(lines, p.out.Text())
	}
	return lines
}

func TestSIGTERMDeliversEarlierEvents(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	p := start(t, api)
	p.signUp(5)
	p.terminate()
	assert.Equal(t, []string{"stopping", "delivered 5, rejected 0, lost 0"}, p.lines())
	require.NoError(t, p.Wait(), p.errs.String())
	events := api.Events()
	require.Len(t, events, 5)
	for _, e := range events {
		assert.Equal(t, "signup_completed", e.Name)
		assert.Equal(t, p.url+"/signup", e.URL)
	}
}

// The API answers nothing until the server has stopped and its handlers have ended, so that all
// events are queued when the tracker's own time begins.
func TestSIGTERMWithAnOpenStreamLosesNothing(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	up := make(chan struct{})
	accept := footfalltest.Delay(25*time.Millisecond, footfalltest.Accept())
	api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		select {
		case <-up:
			accept(a, w, r, e)
		case <-r.Context().Done():
		}
	})
	p := start(t, api, "-shutdown-timeout", "1s")
	stream := p.openStream()
	p.signUp(50)
	p.terminate()
	_, err := io.ReadAll(stream)
	assert.Error(t, err, "the stream is cut off")
	assert.Empty(t, api.Events())
	time.AfterFunc(2*time.Second, func() { close(up) })
	assert.Equal(t, []string{"stopping", "delivered 50, rejected 0, lost 0"}, p.lines())
	_, failed := errors.AsType[*exec.ExitError](p.Wait())
	assert.True(t, failed, "the stream was not answered")
	assert.Contains(t, p.errs.String(), "has not answered all requests in 1s")
	assert.Len(t, api.Events(), 50)
}

func TestTheAccountSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Hang())
	p := start(t, api, "-close-timeout", "100ms")
	p.signUp(3)
	p.terminate()
	assert.Equal(t, []string{"stopping", "delivered 0, rejected 0, lost 3"}, p.lines())
	assert.Error(t, p.Wait())
	assert.Contains(t, p.errs.String(), "lost 3 of 3 events")
}

func TestASecondSIGTERMEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, footfalltest.NewAPI(t), "-shutdown-timeout", "50s") // of the minute that it has
	p.openStream()
	p.terminate()
	require.True(t, p.out.Scan())
	assert.Equal(t, "stopping", p.out.Text())
	p.terminate()
	assert.Empty(t, p.lines())
	ended, ok := errors.AsType[*exec.ExitError](p.Wait())
	require.True(t, ok)
	assert.Equal(t, "signal: terminated", ended.Error())
}

func TestAMissingEnvironmentIsNamed(t *testing.T) {
	t.Setenv("FOOTFALL_BASE_URL", "")
	t.Setenv("FOOTFALL_API_KEY", "")
	t.Setenv("FOOTFALL_SITE_ID", "")
	err := run(t.Context(), "127.0.0.1:0", footfall.ConfigFromEnv())
	for _, name := range []string{"FOOTFALL_BASE_URL", "FOOTFALL_API_KEY", "FOOTFALL_SITE_ID"} {
		assert.ErrorContains(t, err, name)
	}
}
