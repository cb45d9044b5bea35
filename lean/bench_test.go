//go:build unix

package lean_test

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/lean"
)

// inFlight lists the numbers of connections to measure.
var inFlight = []int{1, 16, 64}

// BenchmarkDeliver measures delivery over loopback to a server in another process, from Track
// to the answer.
func BenchmarkDeliver(b *testing.B) {
	addr := startServer(b)
	for _, transport := range []struct {
		name string
		open func(footfall.Config) (*footfall.Tracker, error)
	}{{"lean", lean.NewTracker}, {"default", footfall.New}} {
		for _, n := range inFlight {
			b.Run(fmt.Sprintf("%s/in-flight-%d", transport.name, n), func(b *testing.B) {
				cfg := config(addr)
				cfg.MaxInFlight = n
				tracker, err := transport.open(cfg)
				require.NoError(b, err)
				deliver(b, tracker)
			})
		}
	}
}

// rates reports the rate and the processor time of the benchmark's loop.
func rates(b *testing.B, spent time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(cpu()-spent)/float64(b.N), "cpu-ns/op")
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func deliver(b *testing.B, tracker *footfall.Tracker) {
	b.ReportAllocs()
	spent := cpu()
	b.ResetTimer()
	for range b.N { // not b.Loop, which would stop the clock before Flush
		_ = track(b, tracker) // counted below
	}
	require.NoError(b, tracker.Flush(b.Context()))
	b.StopTimer()
	s := tracker.Stats()
	require.Equal(b, uint64(b.N), s.Delivered, "dropped events make a fast figure a wrong one")
	rates(b, spent)
	require.NoError(b, tracker.Close(b.Context()))
}

// BenchmarkRawLoop is the upper bound in Go: goroutines that only write a fixed request and
// read to the end of the answer.
func BenchmarkRawLoop(b *testing.B) {
	addr := startServer(b)
	for _, n := range inFlight {
		b.Run(fmt.Sprintf("in-flight-%d", n), func(b *testing.B) { rawLoop(b, addr, n) })
	}
}

func rawLoop(b *testing.B, addr string, n int) {
	body := `{"site_id":"site_1","name":"checkout_completed","url":"https://shop.example.com/","props":{"plan":"pro","amount":4999,"currency":"EUR","rate":0.19}}`
	request := []byte("POST /v1/events HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: footfall-go/devel\r\nAccept: application/json\r\nAuthorization: Bearer test-key\r\n" +
		"Content-Type: application/json\r\nIdempotency-Key: 01941f29-7c00-7000-8000-000000000000\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n\r\n" + body)
	var loops sync.WaitGroup
	b.ReportAllocs()
	spent := cpu()
	for i := range n {
		loops.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			buf := make([]byte, 4096)
			for range (b.N + n - 1 - i) / n {
				if err := exchange(conn, request, buf); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	loops.Wait()
	rates(b, spent)
}

func exchange(conn net.Conn, request, buf []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	have := 0
	for !bytes.HasSuffix(buf[:have], []byte(`{"accepted":true}`)) {
		n, err := conn.Read(buf[have:])
		if err != nil {
			return err
		}
		have += n
	}
	return nil
}
