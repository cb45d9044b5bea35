package main

import (
	"bufio"
	"context"
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

	"github.com/footfall-dev/footfall/footfalltest"
)

// build makes the program and a command that runs it for this API at most a minute.
func build(t *testing.T, api *footfalltest.API) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	binary := filepath.Join(t.TempDir(), "graceful")
	built, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	cmd := exec.CommandContext(ctx, binary, "-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(),
		"FOOTFALL_BASE_URL="+api.URL, "FOOTFALL_API_KEY="+footfalltest.Key, "FOOTFALL_SITE_ID="+footfalltest.SiteID)
	return cmd
}

// readAddress returns the first address in the first line that names one.
func readAddress(t *testing.T, out *bufio.Scanner) string {
	t.Helper()
	for out.Scan() {
		if address := regexp.MustCompile(`http://[0-9.:]+\d`).FindString(out.Text()); address != "" {
			return address
		}
	}
	t.Fatal("the program ended without an address")
	return ""
}

func TestSIGTERMDeliversWhatHappenedBeforeIt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM to send")
	}
	api := footfalltest.NewAPI(t)
	cmd := build(t, api)
	var errs strings.Builder
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewScanner(stdout)
	address := readAddress(t, out)

	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 5 {
		answer, err := client.Post(address+"/signup", "", nil)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	// The events wait up to a second for others: the signal finds them queued.
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))

	var last string
	for out.Scan() {
		last = out.Text()
	}
	require.NoError(t, cmd.Wait(), errs.String())
	assert.Equal(t, "delivered 5, rejected 0, lost 0", last)
	events := api.Events()
	require.Len(t, events, 5)
	for _, e := range events {
		assert.Equal(t, "signup_completed", e.Name)
		assert.Equal(t, address+"/signup", e.URL)
	}
}

func TestAMissingEnvironmentIsNamed(t *testing.T) {
	t.Setenv("FOOTFALL_BASE_URL", "")
	t.Setenv("FOOTFALL_API_KEY", "")
	t.Setenv("FOOTFALL_SITE_ID", "")
	err := run(t.Context(), "127.0.0.1:0")
	for _, name := range []string{"FOOTFALL_BASE_URL", "FOOTFALL_API_KEY", "FOOTFALL_SITE_ID"} {
		assert.ErrorContains(t, err, name)
	}
}
