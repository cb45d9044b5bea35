//go:build soak && unix

package stream_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// program is an application in its own process that tracks events durably.
type program struct {
	cmd  *exec.Cmd
	keys chan []string // of the events that were Stored
}

func startProgram(t testing.TB, urls string, round int) *program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &program{cmd: exec.Command(self), keys: make(chan []string, 1)}
	p.cmd.Env = append(os.Environ(), appURL+"="+urls, appRound+"="+strconv.Itoa(round))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		var keys []string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			keys = append(keys, lines.Text())
		}
		p.keys <- keys
	}()
	return p
}

// kill kills the program, and returns the keys of the events that it knew to be Stored.
func (p *program) kill() []string {
	_ = p.cmd.Process.Kill()
	keys := <-p.keys
	_ = p.cmd.Wait()
	return keys
}

// keys returns the keys of events that programs have tracked.
func keys(events []footfalltest.Event) (all []string) {
	for _, e := range events {
		if key, ok := e.Props["key"].(string); ok {
			all = append(all, key)
		}
	}
	return all
}

// missing returns the keys that have not arrived.
func missing(keys, arrived []string) (left []string) {
	there := make(map[string]bool)
	for _, key := range arrived {
		there[key] = true
	}
	for _, key := range keys {
		if !there[key] {
			left = append(left, key)
		}
	}
	return left
}
