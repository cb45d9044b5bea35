//go:build ci

package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/post/child"
)

func start(t *testing.T, delay time.Duration) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{Core: child.AnyCore, Delay: delay})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestTheServerAcceptsAndCounts(t *testing.T) {
	s := start(t, 0)
	for range 3 {
		resp, err := http.Post(s.URL+"/v1/events", "application/json", strings.NewReader(`{}`))
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusAccepted, resp.StatusCode)
		require.Equal(t, Body, string(b))
	}
	got, err := s.Counts()
	require.NoError(t, err)
	require.Positive(t, got.CPU)
	got.CPU = 0
	require.Equal(t, Counts{Requests: 3, Connections: 1, InFlight: 1}, got)
}

func TestAnswersAreDelayedAndRequestsInFlightCounted(t *testing.T) {
	const delay = 100 * time.Millisecond
	s := start(t, delay)
	began := time.Now()
	var posts sync.WaitGroup
	for range 5 {
		posts.Go(func() {
			resp, err := http.Post(s.URL, "application/json", strings.NewReader(`{}`))
			if err == nil {
				resp.Body.Close()
			}
		})
	}
	posts.Wait()
	require.GreaterOrEqual(t, time.Since(began), delay)
	got, err := s.Counts()
	require.NoError(t, err)
	got.CPU = 0
	require.Equal(t, Counts{Requests: 5, Connections: 5, InFlight: 5}, got)
	got, err = s.Counts()
	require.NoError(t, err)
	require.Zero(t, got.InFlight, "since the last reading")
}

func TestARequestIsAnsweredWhenItIsComplete(t *testing.T) {
	s := start(t, 0)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer c.Close()
	for _, part := range []string{"POST / HTTP/1.1\r\nContent-", "Length: 4\r\n", "\r\n", "ab", "c"} {
		_, err := io.WriteString(c, part)
		require.NoError(t, err)
		got, err := s.Counts() // takes longer than the part
		require.NoError(t, err)
		require.Zero(t, got.Requests)
	}
	_, err = io.WriteString(c, "d")
	require.NoError(t, err)
	answer := make([]byte, len(accepted))
	_, err = io.ReadFull(c, answer)
	require.NoError(t, err)
	require.Equal(t, string(accepted), string(answer))
}

func TestARequestWithoutLengthIsRefused(t *testing.T) {
	s := start(t, 0)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n") // the connection might be closed before a chunk
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(answer), "HTTP/1.1 411 ")
}

func TestTheSizeOfARequestIncludesHeaderAndBody(t *testing.T) {
	size := func(s string) int {
		n, ok := requestSize([]byte(s))
		require.True(t, ok, s)
		return n
	}
	one := "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab"
	require.Equal(t, len(one), size(one+"POST / "))
	require.Zero(t, size("POST / HTTP/1.1\r\nContent-Length: 2\r\n"))
	for _, bad := range []string{"GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"} {
		_, ok := requestSize([]byte(bad))
		require.False(t, ok, bad)
	}
}
