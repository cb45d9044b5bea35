package transporttest

import (
	"encoding/pem"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests of a package that calls [Run]; its TestMain must do nothing else. Main
// makes the process trust the certificate of net/http/httptest, which is only possible before
// the first verification. It fails the run if a goroutine of footfall outlives the tests.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "transporttest")
	if err != nil {
		panic(err)
	}
	trusted := filepath.Join(dir, "trusted.pem")
	if err := os.WriteFile(trusted, certificate(), 0o600); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", trusted)
	os.Setenv("SSL_CERT_DIR", dir)
	code := m.Run()
	if left := leaked(10 * time.Second); left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines of footfall outlive the tests:\n%s\n", left)
		code = 1
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// certificate is the certificate of httptest's servers, valid for 127.0.0.1 but not localhost.
func certificate() []byte {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// leaked returns the stacks that are still in footfall after patience.
func leaked(patience time.Duration) string {
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		left := stacksOfFootfall()
		if left == "" || time.Now().After(deadline) {
			return left
		}
	}
}

func stacksOfFootfall() string {
	var left []string
	for stack := range stacks() {
		if strings.Contains(stack, "footfall-dev/footfall") && !strings.Contains(stack, ".TestMain(") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// Goroutines returns the number of goroutines with a function in their stack whose name
// contains text.
func Goroutines(text string) (n int) {
	for stack := range stacks() {
		if strings.Contains(stack, text) {
			n++
		}
	}
	return n
}

func stacks() iter.Seq[string] {
	buf := make([]byte, 4<<20)
	return strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n")
}
