// Package hello is a server that says hello. All programs of the experiment consist of it and
// an SDK.
package hello

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
)

// Nowhere is the address that SDKs send to. No server listens there.
const Nowhere = "http://127.0.0.1:9"

// Serve listens, prints its address, and prints its number of goroutines for each line that it
// reads, until the end of input. It calls track for each request before it answers, and wrap
// for the handler; both may be nil.
func Serve(track func(*http.Request), wrap func(http.Handler) http.Handler) {
	handler := newHandler(track, wrap)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://" + l.Addr().String())
	go func() { log.Fatal(http.Serve(l, handler)) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(runtime.NumGoroutine())
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
