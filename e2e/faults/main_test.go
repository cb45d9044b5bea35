//go:build ci && linux

package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain fails the run when a goroutine of the library outlives its tests.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "footfall-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	waitTogether()
	childBinary = sync.OnceValues(func() (string, error) { return build(dir, "child") })
	callerBinary = sync.OnceValues(func() (string, error) { return build(dir, "caller") })
	code := m.Run()
	_ = os.RemoveAll(dir)
	if left := leakedGoroutines(10 * time.Second); left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines of footfall outlive the tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// waitTogether runs more tests at once than there are cores, because they mostly wait,
// unless the command line sets a number.
func waitTogether() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "8") // a flag that exists
	}
}

// childBinary builds the program on its first call. It never has the race detector, so that
// it needs as much memory as an application.
var childBinary func() (string, error)

func build(dir, program string) (string, error) {
	path := filepath.Join(dir, program)
	out, err := exec.Command("go", "build", "-o", path, "./"+program).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s: %w: %s", program, err, out)
	}
	return path, nil
}

// leakedGoroutines returns the stacks of goroutines that are still in the library after a
// while.
func leakedGoroutines(patience time.Duration) string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		left := goroutinesOfFootfall()
		if left == "" || time.Now().After(deadline) {
			return left
		}
	}
}

func goroutinesOfFootfall() string {
	var left []string
	for stack := range strings.SplitSeq(goroutineProfile(2), "\n\n") {
		if strings.Contains(stack, "footfall-dev/footfall") && !strings.Contains(stack, ".TestMain(") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

func goroutineProfile(debug int) string {
	var out strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&out, debug) // to memory
	return out.String()
}
