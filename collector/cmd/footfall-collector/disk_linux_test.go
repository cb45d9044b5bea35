package main

import (
	"bufio"
	"database/sql"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/smalldisk"
)

// process is a service in a separate process.
type process struct {
	service
	log output
	cmd *exec.Cmd
}

// startProcess starts a service and waits until it says that it serves.
func startProcess(t *testing.T, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "-listen", "127.0.0.1:0", "-data", dir)}
	p.cmd.Env = append(os.Environ(), "FOOTFALL_TEST_AS_COMMAND=1")
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	lines := bufio.NewReader(out)
	for p.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			_ = p.cmd.Wait()
			require.NoError(t, err, "the service ended: %s", p.log.after(""))
		}
		if url, ok := strings.CutPrefix(line, "Footfall serves "); ok {
			p.url = strings.TrimSpace(url)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return p
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // it was killed
}

// fill takes all of the disk's space, until free is called.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "fill")
	f, err := os.Create(name)
	require.NoError(t, err)
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
	return func() { require.NoError(t, os.Remove(name)) }
}

func TestAServiceStartsOnAFullDiskAndStoresEventsWhenThereIsSpace(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, "8m", func(t *testing.T, dir string) {
		site, key := withSite(t, dir)
		p := startProcess(t, dir)
		p.post(t, site, key)
		p.kill(t)
		p = startProcess(t, dir) // empties the log, which could be overwritten on a full disk
		free := fill(t, dir)
		require.Equal(t, 503, p.try(t, site, key))
		p.kill(t)

		p = startProcess(t, dir)
		for range 3 {
			assert.Equal(t, 503, p.try(t, site, key))
		}
		status, _ := get(t, http.DefaultClient, p.url+"/healthz")
		assert.Equal(t, 503, status)
		status, _ = get(t, http.DefaultClient, p.url+"/livez")
		assert.Equal(t, 200, status)
		owner := p.signIn(t)
		status, page := get(t, owner, p.url+"/sites/"+site)
		assert.Equal(t, 200, status)
		assert.Contains(t, page, "signup", "the events from before")
		assert.NotEmpty(t, p.log.after("the disk is full, so nothing"))

		free()
		p.post(t, site, key)
		assert.Eventually(t, func() bool {
			status, _ := get(t, http.DefaultClient, p.url+"/healthz")
			return status == 200
		}, 10*time.Second, 100*time.Millisecond)
		p.kill(t)
		p = startProcess(t, dir)
		p.post(t, site, key)
		p.kill(t)
		assert.EqualValues(t, 3, eventsIn(t, filepath.Join(dir, "footfall.db"), site))
	})
}

func TestAnUpgradeWithoutSpaceSaysHowMuchItNeedsAndChangesNothing(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, "8m", func(t *testing.T, dir string) {
		file := filepath.Join(dir, "footfall.db")
		statements, err := os.ReadFile("../../sqlite/testdata/version2.sql")
		require.NoError(t, err)
		db, err := sql.Open("sqlite", file)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), string(statements))
		require.NoError(t, err)
		require.NoError(t, db.Close())
		before, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file+"-lock", nil, 0o600))
		free := fill(t, dir)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-listen", "127.0.0.1:0", "-data", dir)
		cmd.Env = append(os.Environ(), "FOOTFALL_TEST_AS_COMMAND=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Equal(t, 1, cmd.ProcessState.ExitCode())
		assert.Regexp(t, `the upgrade from version 2 to \d+ needs 3 MB of free space on the disk of the file, which has 0 MB: nothing was changed`, string(out))
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, before, after)
		free()
		startProcess(t, dir).kill(t)
	})
}
