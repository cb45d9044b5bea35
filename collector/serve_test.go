package collector

import (
	"bufio"
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// dial opens a raw connection.
func (s *service) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return conn
}

func TestAProxyThatHidesItsClientsIsLoggedOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		config Config
		header []string
		want   int
	}{
		"no header":           {Config{TrustedProxies: loopback}, nil, 1},
		"with the header":     {Config{TrustedProxies: loopback}, []string{"X-Forwarded-For", "192.0.2.1"}, 0},
		"no proxy is trusted": {Config{}, nil, 0},
		"another proxy is":    {Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			row.config.Logger = textLogger(&log)
			s := serve(t, row.config)
			for range 3 {
				require.Equal(t, 202, s.browse(t, pageview, row.header...).status)
			}
			assert.Equal(t, row.want, strings.Count(log.String(), "sends no X-Forwarded-For"), log.String())
			assert.Equal(t, row.want, strings.Count(log.String(), " proxy=127.0.0.1\n"), "without the port: %s", log.String())
		})
	}
}

func TestConnectionThatSendsItsHeaderSlowlyIsCut(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{HeaderTimeout: 100 * time.Millisecond})
	conn := s.dial(t)
	slow := time.NewTicker(20 * time.Millisecond)
	defer slow.Stop()
	began := time.Now()
	text := "POST /v1/events HTTP/1.1\r\n"
	for _, err := io.WriteString(conn, text); err == nil; _, err = io.WriteString(conn, "X-A: b\r\n") {
		<-slow.C
		require.Less(t, time.Since(began), 5*time.Second)
	}
	answer, _ := io.ReadAll(conn)
	assert.Empty(t, answer, "it is not worth one")
}

// TestSlowClientsDelayNoOthers opens many connections that never finish their header or
// body, and sends a normal request meanwhile.
func TestSlowClientsDelayNoOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{HeaderTimeout: time.Second, ReadTimeout: 2 * time.Second, MaxPending: 1})
	var slow []net.Conn
	for range 100 {
		header, body := s.dial(t), s.dial(t)
		_, err := io.WriteString(header, "POST /v1/events HTTP/1.1\r\nHost: x\r\nX-A: b")
		require.NoError(t, err)
		_, err = fmt.Fprintf(body, "POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 32768\r\n\r\n{", s.key)
		require.NoError(t, err)
		slow = append(slow, header, body)
	}
	require.Eventually(t, func() bool { return s.inFlight.Load() >= 100 }, 2*time.Second, time.Millisecond, "the bodies are waited for")
	assert.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}")).status, "incomplete requests do not count against MaxPending")
	for _, conn := range slow {
		_, err := io.ReadAll(conn) // the deadline of dial is 10 seconds
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "a slow client was not cut")
	}
	assert.Zero(t, s.inFlight.Load())
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
	text, _ := io.ReadAll(conn) // until the server closes
	assert.Contains(t, string(text), `{"status":"ok"`)
}

func TestLargeHeaderIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	got := s.do(t, "GET", "/v1/sites", "", "X-Large", strings.Repeat("x", 64<<10))
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, got.status)
}

// signIn returns the cookies of a new session.
func (s *service) signIn(t testing.TB) string {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.PostForm(s.url+"/login", url.Values{"password": {ownerPassword}})
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusSeeOther, response.StatusCode)
	var pairs []string
	for _, c := range response.Cookies() {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}

const ownerPassword = "correct horse battery"

// withPassword stores ownerPassword, hashed in one round for speed. A nil store is replaced by
// a new one.
func withPassword(t testing.TB, st store.Store) store.Store {
	t.Helper()
	salt := []byte("0123456789abcdef")
	hash, err := pbkdf2.Key(sha256.New, ownerPassword, salt, 1, sha256.Size)
	require.NoError(t, err)
	data, err := json.Marshal(map[string]any{"salt": salt, "hash": hash, "rounds": 1})
	require.NoError(t, err)
	if st == nil {
		st = storetest.NewReference()
	}
	require.NoError(t, st.Put(t.Context(), "password", store.Record{ID: "owner", Data: data}))
	return st
}

func TestLiveViewOutlivesTheTimeoutsOfOtherAnswers(t *testing.T) {
	t.Parallel()
	const timeout = 200 * time.Millisecond
	s := serve(t, Config{Store: withPassword(t, nil), ReadTimeout: timeout, WriteTimeout: timeout})
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/sites/"+s.site.ID+"/live/stream", nil)
	require.NoError(t, err)
	r.Header.Set("Cookie", s.signIn(t))
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 200, response.StatusCode)
	lines := bufio.NewReader(response.Body)
	now := time.NewTicker(timeout / 4)
	defer now.Stop()
	for range 16 { // four times the timeout
		<-now.C
		s.live.Publish(store.Event{Site: s.site.ID, Name: "shown", Path: "/", At: time.Now()})
		for line := ""; !strings.Contains(line, "shown"); {
			line, err = lines.ReadString('\n')
			require.NoError(t, err, "the stream was cut")
		}
	}
}

// listen serves a prepared service until stop is called.
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

// TestShutdownLosesNothingAcknowledged uses a real file, and clients that post as fast as they
// can until the server stops.
func TestShutdownLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "footfall.db")
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.NoError(t, err)
	s := prepare(t, Config{Store: st})
	stop := s.listen(t)
	const clients = 8
	var acknowledged [clients]int // by client, which posts 0, 1, 2 …
	var total atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for ; s.send(fmt.Sprintf("%d-%d", client, acknowledged[client])); acknowledged[client]++ {
				total.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return total.Load() >= 500 }, 10*time.Second, time.Millisecond)
	require.NoError(t, stop())
	require.NoError(t, s.Close(t.Context()))
	wg.Wait()
	require.NoError(t, st.Close())

	again, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.NoError(t, err)
	defer again.Close()
	s.store = again
	stored := make(map[string]bool)
	for _, e := range s.stored(t) {
		stored[e.Name] = true
	}
	for client, n := range acknowledged {
		for i := range n {
			require.True(t, stored[fmt.Sprintf("%d-%d", client, i)])
		}
	}
	assert.LessOrEqual(t, len(stored), int(total.Load())+clients, "and nothing was made up")
}

// send posts an event and reports whether it was acknowledged.
func (s *service) send(name string) bool {
	r, _ := http.NewRequest("POST", s.url+"/v1/events", strings.NewReader(s.event(name, pageURL, "{}")))
	r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == 202
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
	s := prepare(t, Config{Store: adding{storetest.NewReference(), func(context.Context, store.Event) (bool, error) {
		close(arrived)
		<-commit
		return true, nil
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

func TestServeClosesIdleConnectionsAboveTheBound(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{MaxConnections: 3})
	var all []net.Conn
	for range 5 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		all = append(all, conn)
	}
	ended := make(chan error, len(all))
	for _, conn := range all {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
		go func() {
			_, err := conn.Read(make([]byte, 1))
			ended <- err
		}()
	}
	for range 2 { // those that became idle first, which may not be the order of the answers
		assert.ErrorIs(t, <-ended, io.EOF)
	}
	assert.Empty(t, ended)
}

func TestRequestsThatDoNotArriveAreClosedAboveTheBound(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{MaxConnections: 3})
	for range 3 {
		_, err := io.WriteString(s.dial(t), "POST /e HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n{")
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return s.inFlight.Load() == 3 }, 5*time.Second, time.Millisecond)
	conn := s.dial(t) // with a deadline before Config.ReadTimeout
	_, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, answer.StatusCode)
}

// readNothing opens one connection after the other until ctx ends. On each it sends requests and reads no
// answer, until the service closes it.
func (s *service) readNothing(ctx context.Context) {
	requests := strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", 100)
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		for err == nil {
			_, err = io.WriteString(conn, requests)
		}
		stop()
		conn.Close()
	}
}

func TestClientsThatReadNoAnswersShutNobodyOut(t *testing.T) {
	t.Parallel()
	const most = 10
	s := serve(t, Config{MaxConnections: most})
	ctx, stop := context.WithCancel(t.Context())
	var floods sync.WaitGroup
	for range 2 * most {
		floods.Go(func() { s.readNothing(ctx) })
	}
	defer floods.Wait()
	defer stop()
	require.Eventually(t, func() bool { return s.inFlight.Load() == most }, 10*time.Second, time.Millisecond)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second} // Config.WriteTimeout is 30 s
	for range 2 {
		response, err := client.Get(s.url + "/livez")
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, http.StatusOK, response.StatusCode)
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/events", strings.NewReader(s.event("x", pageURL, "{}")))
		require.NoError(t, err)
		r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}}
		response, err = client.Do(r)
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, http.StatusAccepted, response.StatusCode)
	}
	assert.Len(t, s.stored(t), 2)
}
