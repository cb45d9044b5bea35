package footfall_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails the run when a goroutine of the library outlives its tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leakedGoroutines(10 * time.Second); left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines of footfall outlive the tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leakedGoroutines returns the stacks that are still in the library after a while.
func leakedGoroutines(patience time.Duration) string {
	deadline := time.Now().Add(patience)
	for {
		left := goroutinesOfFootfall()
		if left == "" || time.Now().After(deadline) {
			return left
		}
		runtime.Gosched()
	}
}

func goroutinesOfFootfall() string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "footfall-dev/footfall") && !strings.Contains(stack, ".TestMain(") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
