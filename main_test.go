package footfall_test

import (
	"fmt"
	"iter"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails the run if a goroutine of the library outlives its tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leakedGoroutines(10 * time.Second); left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines of footfall outlive the tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leakedGoroutines returns the stacks of goroutines that are still in the library after a
// while.
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
	var left []string
	for stack := range stacks() {
		if strings.Contains(stack, "footfall-dev/footfall") && !strings.Contains(stack, ".TestMain(") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// goroutinesOfBubble counts the goroutines of the current synctest bubble. Goroutines of other
// tests are not counted.
func goroutinesOfBubble() (n int) {
	own := make([]byte, 1<<10)
	own = own[:runtime.Stack(own, false)]
	bubble := regexp.MustCompile(`synctest bubble \d+\]`).FindString(string(own))
	if bubble == "" {
		panic("not in a bubble")
	}
	for stack := range stacks() {
		if header, _, _ := strings.Cut(stack, "\n"); strings.Contains(header, bubble) {
			n++
		}
	}
	return n
}

// stacks returns the stack of each goroutine.
func stacks() iter.Seq[string] {
	buf := make([]byte, 4<<20)
	return strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n")
}
