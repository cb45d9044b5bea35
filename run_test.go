package footfall_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// fakeServer is a Server without sockets.
type fakeServer struct {
	err      error         // of ListenAndServe, at once
	begin    func()        // called by ListenAndServe
	requests time.Duration // time until requests end after Shutdown; negative means never

	once   sync.Once
	stop   chan struct{}
	began  time.Time // of Shutdown
	closed time.Time
	cut    func() // called in a goroutine by Close

	answered atomic.Bool // all requests, before Shutdown returned
}

func newFakeServer() *fakeServer { return &fakeServer{stop: make(chan struct{})} }

func (s *fakeServer) ListenAndServe() error {
	if s.begin != nil {
		s.begin()
	}
	if s.err != nil {
		return s.err
	}
	<-s.stop
	return http.ErrServerClosed
}

func (s *fakeServer) Shutdown(ctx context.Context) error {
	s.once.Do(func() {
		s.began = time.Now()
		close(s.stop)
	})
	requests := make(<-chan time.Time)
	if s.requests >= 0 {
		requests = time.After(s.requests)
	}
	select {
	case <-requests:
		s.answered.Store(true)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeServer) Close() error {
	s.closed = time.Now()
	if s.cut != nil {
		go s.cut()
	}
	return nil
}

// inBubble runs a test in a bubble. It starts the goroutine of os/signal, which is started only
// once, outside of the bubble.
func inBubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	synctest.Test(t, f)
}

// runFor runs the server for the given time.
func runFor(tracker *footfall.Tracker, d time.Duration, server footfall.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return tracker.Run(ctx, server)
}

func TestRunDeliversEventsOfRequestsAnsweredAfterItsContextHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := newFakeNet()
		tracker := start(t, api)
		server := newFakeServer()
		server.requests = 5 * time.Second
		server.begin = func() {
			go func() {
				time.Sleep(time.Minute + 4*time.Second) // while Shutdown waits
				track(t, tracker, 50)
			}()
		}
		require.NoError(t, runFor(tracker, time.Minute, server))
		delivered, most := api.delivered()
		assert.Equal(t, []int{50, 1}, []int{delivered, most})
		assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
		assert.Zero(t, server.closed, "no request was cut off")
	})
}

func TestRunGivesTheTrackerItsOwnTimeAfterAStreamThatDoesNotEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := newFakeNet()
		api.latency = 9 * time.Second // Close has 10
		tracker := start(t, api, func(c *footfall.Config) { c.AttemptTimeout = time.Minute })
		server := newFakeServer()
		server.requests = -1
		server.cut = func() {
			time.Sleep(900 * time.Millisecond) // a handler notices that its connection is closed
			track(t, tracker, 50)
		}
		begun := time.Now()
		err := runFor(tracker, time.Minute, server)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "footfall: run: the server has not answered all requests in 10s (end streams in http.Server.RegisterOnShutdown): context deadline exceeded")
		assert.Equal(t, time.Minute+10*time.Second, server.closed.Sub(begun))
		assert.Equal(t, footfall.Stats{Tracked: 50, Delivered: 50}, tracker.Stats())
	})
}

func TestRunReturnsTheAccountWithTheErrorOfTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := newFakeNet()
		api.set(answerHang)
		tracker := start(t, api, func(c *footfall.Config) { c.ShutdownTimeout, c.CloseTimeout = 3*time.Second, 2*time.Second })
		track(t, tracker, 7)
		server := newFakeServer()
		server.requests = -1
		begun := time.Now()
		err := runFor(tracker, time.Minute, server)
		account, ok := errors.AsType[*footfall.CloseError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, uint64(7), account.Lost)
		assert.ErrorContains(t, err, "has not answered all requests in 3s")
		assert.Equal(t, time.Minute+3*time.Second, server.closed.Sub(begun))
		assert.Equal(t, time.Minute+(3+1+2)*time.Second, time.Since(begun).Truncate(time.Second))
	})
}

func TestRunClosesTheTrackerOfAServerThatFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := newFakeNet()
		tracker := start(t, api)
		track(t, tracker, 3)
		server := newFakeServer()
		server.err = errors.New("no socket left")
		server.requests = 2 * time.Second // it fails while requests are in progress
		assert.EqualError(t, tracker.Run(context.Background(), server), "no socket left")
		assert.True(t, server.answered.Load(), "requests under way are answered")
		assert.Equal(t, footfall.Stats{Tracked: 3, Delivered: 3}, tracker.Stats())
		assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
	})
}

func TestRunEndsWhenTheServerIsShutDownByTheApplication(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tracker := start(t, newFakeNet())
		server := newFakeServer()
		server.begin = func() { go server.Shutdown(context.Background()) }
		var none context.Context
		assert.NoError(t, tracker.Run(none, server))
	})
}

func TestRunOfNoTrackerServesAndStops(t *testing.T) {
	disabled, err := footfall.New(footfall.Config{Disabled: true, ShutdownTimeout: 2 * time.Second})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		tracker *footfall.Tracker
		time    time.Duration
	}{"nil": {nil, 10 * time.Second}, "disabled": {disabled, 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				require.NoError(t, runFor(c.tracker, time.Minute, newFakeServer()))
				server := newFakeServer()
				server.requests = -1
				assert.ErrorIs(t, runFor(c.tracker, time.Minute, server), context.DeadlineExceeded)
				assert.Equal(t, c.time, server.closed.Sub(server.began))
				server = newFakeServer()
				server.err = io.ErrUnexpectedEOF
				assert.ErrorIs(t, c.tracker.Run(t.Context(), server), io.ErrUnexpectedEOF)
			})
		})
	}
}

// fragile is a Server that panics in ListenAndServe or in Shutdown.
type fragile struct{ stop chan struct{} }

func (s *fragile) ListenAndServe() error {
	<-s.stop
	panic("no listener")
}

func (s *fragile) Shutdown(context.Context) error {
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	return nil
}

func TestRunPassesOnAPanicOfTheServerOnceTheTrackerIsClosed(t *testing.T) {
	for name, wait := range map[string]time.Duration{"at once": 0, "when it is shut down": time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				tracker := start(t, newFakeNet())
				track(t, tracker, 50)
				server := &fragile{make(chan struct{})}
				if wait == 0 {
					close(server.stop)
				}
				assert.PanicsWithValue(t, "no listener", func() { _ = runFor(tracker, time.Minute, server) })
				assert.Equal(t, uint64(50), tracker.Stats().Delivered)
				assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
			})
		})
	}
}

// stubborn is a Server whose methods may never return.
type stubborn struct {
	inServe, inShutdown bool          // where it never returns
	stop, release       chan struct{} // release ends both at the end of the test
}

func (s *stubborn) ListenAndServe() error {
	<-s.stop
	if s.inServe {
		<-s.release
	}
	return nil
}

func (s *stubborn) Shutdown(context.Context) error {
	close(s.stop)
	if s.inShutdown {
		<-s.release
	}
	return nil
}

func TestRunDoesNotWaitForAServerThatIgnoresItsDeadline(t *testing.T) {
	for name, where := range map[string]func(*stubborn){
		"Shutdown":       func(s *stubborn) { s.inShutdown = true },
		"ListenAndServe": func(s *stubborn) { s.inServe = true },
		"both":           func(s *stubborn) { s.inShutdown, s.inServe = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				api := newFakeNet()
				tracker := start(t, api)
				track(t, tracker, 50)
				server := &stubborn{stop: make(chan struct{}), release: make(chan struct{})}
				where(server)
				begun := time.Now()
				assert.ErrorIs(t, runFor(tracker, time.Minute, server), context.DeadlineExceeded)
				assert.Equal(t, time.Minute+10*time.Second, time.Since(begun), "it has no connections to close")
				delivered, _ := api.delivered()
				assert.Equal(t, 50, delivered)
				close(server.release)
			})
		})
	}
}

// announcing returns a server that calls begin with its URL when it listens.
func announcing(handler http.Handler, begin func(url string)) *http.Server {
	return &http.Server{
		Addr: "127.0.0.1:0", Handler: handler, ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(l net.Listener) context.Context {
			begin("http://" + l.Addr().String())
			return context.Background()
		},
	}
}

func TestRunOfAnHTTPServerEndsBySignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to send")
	}
	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sent.String(), func(t *testing.T) { // sequential, because a signal ends all servers of the process
			api := footfalltest.NewAPI(t)
			tracker, err := footfall.New(api.Config())
			require.NoError(t, err)
			handler := tracker.Middleware(footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"})(muxOf("GET /pricing"))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			urls, ended := make(chan string, 1), make(chan error, 1)
			go func() { ended <- tracker.Run(ctx, announcing(handler, func(url string) { urls <- url })) }()
			answer, err := http.Get(<-urls + "/pricing")
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			own, err := os.FindProcess(os.Getpid())
			require.NoError(t, err)
			require.NoError(t, own.Signal(sent))
			require.NoError(t, <-ended)
			assert.NoError(t, ctx.Err(), "the signal has ended it, not its context")
			assert.Len(t, api.Events(), 1)
		})
	}
}

func TestRunSaysThatThePortIsInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	tracker := footfalltest.New(t)
	err = tracker.Run(t.Context(), &http.Server{Addr: taken.Addr().String(), ReadHeaderTimeout: time.Second})
	assert.ErrorContains(t, err, taken.Addr().String())
	assert.ErrorIs(t, tracker.Track(t.Context(), "late"), footfall.ErrClosed)
}

// A stream is open until its connection is closed. Events of its handler then arrive.
func TestRunCutsAnOpenStreamAndDeliversItsEvent(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	cfg := api.Config()
	cfg.ShutdownTimeout = 100 * time.Millisecond
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // the client receives the header
		<-r.Context().Done()
	})
	ctx, stop := context.WithCancel(t.Context())
	urls, ended := make(chan string, 1), make(chan error, 1)
	handler := tracker.Middleware(footfall.Rule{Route: "GET /live", Event: "watched"})(mux)
	go func() { ended <- tracker.Run(ctx, announcing(handler, func(url string) { urls <- url })) }()
	stream, err := http.Get(<-urls + "/live")
	require.NoError(t, err)
	defer stream.Body.Close()
	stop()
	_, err = io.ReadAll(stream.Body)
	assert.Error(t, err, "the connection is closed")
	assert.ErrorIs(t, <-ended, context.DeadlineExceeded)
	require.Len(t, api.Events(), 1)
	assert.Equal(t, "watched", api.Events()[0].Name)
}

// runFuncFor is runFor with RunFunc.
func runFuncFor(tracker *footfall.Tracker, d time.Duration, serve func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return tracker.RunFunc(ctx, serve)
}

func TestRunFuncClosesTheTrackerOnceTheFunctionHasReturned(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := newFakeNet()
		tracker := start(t, api)
		assert.NoError(t, runFuncFor(tracker, time.Minute, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(4 * time.Second) // what is in progress ends
			track(t, tracker, 50)
			return ctx.Err()
		}))
		delivered, most := api.delivered()
		assert.Equal(t, []int{50, 1}, []int{delivered, most})
		assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
	})
}

func TestRunFuncReturnsTheErrorOfTheFunction(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var none context.Context
		for _, fails := range []error{errors.New("no socket left"), context.Canceled, nil} { // before its context has ended
			tracker := start(t, newFakeNet())
			assert.ErrorIs(t, tracker.RunFunc(none, func(context.Context) error { return fails }), fails)
			assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
		}
	})
}

func TestRunFuncDoesNotWaitForAFunctionThatIgnoresItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		api := newFakeNet()
		tracker, release := start(t, api), make(chan struct{})
		track(t, tracker, 50)
		assert.ErrorIs(t, runFuncFor(tracker, time.Minute, func(context.Context) error { <-release; return nil }), context.DeadlineExceeded)
		delivered, _ := api.delivered()
		assert.Equal(t, 50, delivered)
		close(release)
	})
}

func TestRunFuncPassesOnAPanicOnceTheTrackerIsClosed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tracker := start(t, newFakeNet())
		track(t, tracker, 3)
		assert.PanicsWithValue(t, "boom", func() { _ = tracker.RunFunc(context.Background(), func(context.Context) error { panic("boom") }) })
		assert.Equal(t, footfall.Stats{Tracked: 3, Delivered: 3}, tracker.Stats())
	})
}
