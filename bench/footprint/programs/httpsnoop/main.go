// Command httpsnoop measures each request.
package main

import (
	"net/http"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
	"github.com/footfall-dev/footfall/bench/footprint/hello"
)

func main() {
	var written atomic.Int64
	hello.Serve(nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			written.Add(httpsnoop.CaptureMetrics(next, w, r).Written)
		})
	})
}
