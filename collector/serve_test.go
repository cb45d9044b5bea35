package collector

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// dial opens a bare connection.
func (s *service) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return conn
}

func TestConnectionThatSendsItsHeaderSlowlyIsCut(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{HeaderTimeout: 100 * time.Millisecond})
	conn := s.dial(t)
	go func() {
		for _, err := io.WriteString(conn, "POST /v1/events HTTP/1.1\r\n"); err == nil; time.Sleep(20 * time.Millisecond) {
			_, err = io.WriteString(conn, "X-A: b\r\n")
		}
	}()
	began := time.Now()
	_, _ = io.ReadAll(conn) // ends with EOF or a reset
	assert.Less(t, time.Since(began), 5*time.Second)
}

func TestBodyThatArrivesSlowlyIsAnswered408(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{ReadTimeout: 200 * time.Millisecond})
	conn := s.dial(t)
	_, err := fmt.Fprintf(conn, "POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", s.key)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, `{"error":"request_timeout","message":"body: did not arrive in time","status":408}`, string(body))
	assert.True(t, response.Close)
}

func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{IdleTimeout: 50 * time.Millisecond})
	conn := s.dial(t)
	_, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	text, _ := io.ReadAll(conn) // ends when the server closes
	assert.Contains(t, string(text), `{"status":"ok"`)
}

func TestLargeHeaderIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	got := s.do(t, "GET", "/v1/sites", "", "X-Large", strings.Repeat("x", 64<<10))
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, got.status)
}

func TestStreamOutlivesTheTimeoutsOfOtherAnswers(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{ReadTimeout: 100 * time.Millisecond, WriteTimeout: 200 * time.Millisecond})
	s.dashboard = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 10 {
			time.Sleep(50 * time.Millisecond)
			if r.Context().Err() != nil {
				return
			}
			_, _ = io.WriteString(w, "data\n\n")
			w.(http.Flusher).Flush()
		}
	})
	s.listen(t)
	got := s.do(t, "GET", "/stream", "")
	assert.Equal(t, strings.Repeat("data\n\n", 10), got.body)
}

// listen serves a prepared service, which may have been changed, until stop is called.
func (s *service) listen(t *testing.T) (stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.url = "http://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-served
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	return stop
}

func TestClientThatReadsNothingIsCut(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{WriteTimeout: 200 * time.Millisecond})
	cut := make(chan error, 1)
	s.dashboard = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				cut <- err
				return
			}
		}
	})
	s.listen(t)
	_, err := io.WriteString(s.dial(t), "GET /export HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	select {
	case <-cut:
	case <-time.After(10 * time.Second):
		t.Fatal("a client that reads nothing holds an answer for ever")
	}
}

func TestShutdownLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	s := prepare(t, Config{Store: adding{st, func(ctx context.Context, e store.Event) error {
		time.Sleep(2 * time.Millisecond) // a commit takes its time
		return st.Add(ctx, e)
	}}})
	stop := s.listen(t)
	acknowledged := make(chan int)
	for range 8 {
		go func() {
			n := 0
			for {
				r, _ := http.NewRequest("POST", s.url+"/v1/events", strings.NewReader(s.event("x", pageURL, "{}")))
				r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}}
				response, err := http.DefaultClient.Do(r)
				if err != nil {
					break
				}
				response.Body.Close()
				if response.StatusCode == 202 {
					n++
				}
			}
			acknowledged <- n
		}()
	}
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, stop())
	require.NoError(t, s.Close(t.Context()))
	total := 0
	for range 8 {
		total += <-acknowledged
	}
	assert.NotZero(t, total)
	assert.GreaterOrEqual(t, len(s.stored(t)), total)
}

func TestShutdownDoesNotWaitForLiveViews(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	watching := make(chan struct{})
	s.dashboard = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(watching)
		<-s.endLive.Done()
	})
	stop := s.listen(t)
	go func() {
		if response, err := http.Get(s.url + "/live"); err == nil {
			response.Body.Close()
		}
	}()
	<-watching
	began := time.Now()
	require.NoError(t, stop())
	assert.Less(t, time.Since(began), 5*time.Second)
}

func TestServeReportsAListenerThatFails(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener.Close()
	assert.True(t, errors.Is(s.Serve(t.Context(), listener), net.ErrClosed))
}

func TestShutdownLetsRequestsUnderWayFinish(t *testing.T) {
	t.Parallel()
	arrived, commit := make(chan struct{}), make(chan struct{})
	s := prepare(t, Config{Store: adding{storetest.NewReference(), func(context.Context, store.Event) error {
		close(arrived)
		<-commit
		return nil
	}}})
	stop := s.listen(t)
	answered := make(chan answer, 1)
	go func() { answered <- s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}")) }()
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		t.Fatal("it did not wait:", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(commit)
	assert.Equal(t, 202, (<-answered).status)
	assert.NoError(t, <-stopped)
}
