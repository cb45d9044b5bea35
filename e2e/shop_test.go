package e2e

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program is a running shop.
type program struct {
	shop, setup string // addresses that it printed
	cmd         *exec.Cmd
	last        chan string // the last line, when it has ended
}

var printed = regexp.MustCompile(`(?:is open at|dashboard is at)  (http://\S+)`)

// startShop builds and starts the shop, and ends it with the test.
func startShop(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	binary := filepath.Join(t.TempDir(), "shop")
	built, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "../examples/shop").CombinedOutput()
	require.NoError(t, err, string(built))

	args = append([]string{"-listen", "127.0.0.1:0", "-collector", "127.0.0.1:0"}, args...)
	p := &program{cmd: exec.CommandContext(ctx, binary, args...), last: make(chan string, 1)}
	p.cmd.Stderr = t.Output()
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	lines := bufio.NewScanner(out)
	p.shop, p.setup = nextAddress(t, lines), nextAddress(t, lines)
	go func() {
		last := ""
		for lines.Scan() {
			last = lines.Text()
		}
		p.last <- last
	}()
	return p
}

func nextAddress(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	for lines.Scan() {
		if found := printed.FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	t.Fatal("the shop printed no address")
	return ""
}

// dashboard is the address of the collector.
func (p *program) dashboard() string {
	address, _, _ := strings.Cut(p.setup, "/setup")
	return address
}

// end closes the shop and returns its account.
func (p *program) end(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	last := <-p.last
	require.NoError(t, p.cmd.Wait())
	return last
}
