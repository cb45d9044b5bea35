package spool_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails the run if a goroutine of the library outlives its tests.
// ci is whether the build tag ci is set. Without it, all tests run with -short.
var ci bool

func TestMain(m *testing.M) {
	if api := os.Getenv(victimAPI); api != "" {
		tracks(os.Getenv(victimDir), api, os.Getenv(victimFirst), os.Getenv(victimRate))
		return
	}
	if dir := os.Getenv(victimDir); dir != "" {
		victim(dir, os.Getenv(victimFirst))
		return
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // tests wait for the disk more than they compute
	if !ci {
		_ = flag.Set("test.short", "true")
	}
	code := m.Run()
	if left := leaked(10 * time.Second); left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines outlive the tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stacks of goroutines that are still in the library after a while.
func leaked(patience time.Duration) string {
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		left := ofLibrary()
		if left == "" || time.Now().After(deadline) {
			return left
		}
	}
}

func ofLibrary() string {
	var left []string
	buf := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "footfall-dev/footfall") && !strings.Contains(stack, ".TestMain(") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
