// Package hello is a server that says hello: what every program of the experiment is but
// for its SDK.
package hello

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Nowhere is where SDKs are pointed to. Nobody answers there.
const Nowhere = "http://127.0.0.1:9"

// Idle is what a program is when nothing happens.
type Idle struct {
	Goroutines int
	RSS        int // KiB; zero if the system does not tell
}

// Serve listens, prints its address, and prints an Idle for each line that it reads, until
// there are no more. Each request is handed to track before it is answered; both track and
// wrap, which is put around the handler, may be nil.
func Serve(track func(*http.Request), wrap func(http.Handler) http.Handler) {
	handler := newHandler(track, wrap)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://" + l.Addr().String())
	go func() { log.Fatal(http.Serve(l, handler)) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		_ = json.NewEncoder(os.Stdout).Encode(Idle{runtime.NumGoroutine(), rss()})
	}
}

func newHandler(track func(*http.Request), wrap func(http.Handler) http.Handler) http.Handler {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if track != nil {
			track(r)
		}
		_, _ = io.WriteString(w, "hello\n")
	})
	if wrap != nil {
		return wrap(handler)
	}
	return handler
}

func rss() int {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return kib
		}
	}
	return 0
}
