package fibertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Run runs the table of adaptertest, and the rows below.
func (s Subject[C, R]) Run(t *testing.T) {
	adaptertest.Run(t, s.Adapter(), []adaptertest.Row{
		{Name: "the page is the page of the original request", Test: s.pageIsAsItCame},
		{Name: "an error of a mounted app is answered once and recorded as seen", Test: s.errorIsAnsweredOnce},
		{Name: "an error that no rule needs is passed on", Test: s.errorGoesOn},
		{Name: "a handler of Use is not a route", Test: s.whatUseAnswersIsNoRoute},
		{Name: "a refusal has a route if the route has the middleware, and else can be tracked", Test: s.refusalsAreCounted},
		{Name: "HEAD of a GET route makes no event", Test: s.headIsNoVisit},
		{Name: "a request that is routed again is counted once", Test: s.routedAgainIsCountedOnce},
		{Name: "one middleware serves a group, a route and two apps", Test: s.oneMiddlewareServesAll},
		{Name: "a timeout is recorded as the client sees it", Test: s.timeoutIsRecordedAsSeen},
		{Name: "a WebSocket of fasthttp works", Test: s.webSocketWorks},
		{Name: "a stream arrives as it is written", Test: s.streamArrivesAsWritten},
		{Name: "a file is sent whole", Test: s.fileIsSentWhole},
		{Name: "patterns are Fiber's", Test: s.patternsAreFibers},
		{Name: "a plus is a catch-all", Test: s.plusIsACatchAll},
		{Name: "the server answers and stops once", Test: s.serverAnswersAndStopsOnce},
		{Name: "the server stops although Fiber has not begun to serve", Test: s.serverStopsBeforeFiberServes},
		{Name: "the server says that the port is in use", Test: s.serverSaysThatThePortIsInUse},
	}...)
}

func (s Subject[C, R]) pageIsAsItCame(st *adaptertest.Stage) {
	for target, want := range map[string]string{
		"/a%20b/%2Fc":        "http://shop.example.com/a%20b/%2Fc",
		"/straße":            "http://shop.example.com/stra%C3%9Fe",
		"/100%25":            "http://shop.example.com/100%25",
		"/a/../b//c?ref=x#y": "http://shop.example.com/a/../b//c?ref=x",
		"/%zz":               "http://shop.example.com/%25zz",
	} {
		st.Each(target, func(st *adaptertest.Stage) {
			st.Watch(adaptertest.Seen(footfall.AnyRoute))
			s.fiber(st.App).Use(func(c C) error {
				c.Path("/changed")
				s.SetHost(c, "changed.example.com")
				return c.Next()
			})
			s.on(st, "/changed", fine[C])
			conn, err := net.Dial("tcp", strings.TrimPrefix(st.URL(""), "http://")) // no client of net/http sends this
			require.NoError(st, err)
			_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: Shop.example.com\r\nConnection: close\r\n\r\n", target)
			require.NoError(st, err)
			_, err = io.Copy(io.Discard, conn)
			require.NoError(st, err)
			conn.Close()
			st.ExpectPage(want, "seen")
		})
	}
}

func (s Subject[C, R]) errorIsAnsweredOnce(st *adaptertest.Stage) {
	calls := 0
	answering := func(status int) func(C, error) error {
		return func(c C, err error) error {
			calls++
			if status == 0 {
				return err
			}
			return c.SendStatus(status)
		}
	}
	st.App.(*app[C, R]).onError = answering(http.StatusTeapot)
	inner, broken := s.New(Config[C]{OnError: answering(http.StatusConflict)}), s.New(Config[C]{OnError: answering(0)})
	st.Watch(adaptertest.Classes(footfall.AnyRoute)...)
	for _, a := range []R{inner, broken, s.fiber(st.App)} {
		s.get(a, "/fails", func(C) error { return errFails })
	}
	s.Mount(s.fiber(st.App), "/inner", inner)
	s.Mount(s.fiber(st.App), "/broken", broken)
	for _, tt := range []struct {
		path string
		want int
	}{{"/fails", 418}, {"/inner/fails", 409}, {"/broken/fails", 500}} {
		calls = 0
		assert.Equal(st, tt.want, st.Get(tt.path), tt.path)
		assert.Equal(st, 1, calls, tt.path)
	}
	st.Expect("client error", "client error", "server error")
}

func (s Subject[C, R]) errorGoesOn(st *adaptertest.Stage) {
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(st, err)
	all := []footfall.Rule{adaptertest.Seen(footfall.AnyRoute), adaptertest.Seen(footfall.NoRoute)}
	for name, watch := range map[string]func(*adaptertest.Stage){
		"below another rule":       func(st *adaptertest.Stage) { st.Watch(adaptertest.Seen("GET /known")) },
		"below a nil tracker":      func(st *adaptertest.Stage) { st.App.Watch(nil, all...) },
		"below a disabled tracker": func(st *adaptertest.Stage) { st.App.Watch(disabled, all...) },
	} {
		st.Each(name, func(st *adaptertest.Stage) {
			var came error
			s.fiber(st.App).Use(func(c C) error {
				if came = c.Next(); came != nil {
					return c.SendStatus(http.StatusTeapot)
				}
				return nil
			})
			watch(st)
			s.on(st, "/fails", func(C) error { return errFails })
			assert.Equal(st, http.StatusTeapot, st.Get("/missing"))
			assert.Equal(st, http.StatusTeapot, st.Get("/fails"))
			st.Expect()
			assert.Same(st, errFails, came)
		})
	}
}

func (s Subject[C, R]) whatUseAnswersIsNoRoute(st *adaptertest.Stage) {
	st.Watch(adaptertest.Seen("/"), adaptertest.Seen("/assets"),
		footfall.Rule{Route: footfall.NoRoute, Event: "missing"}, footfall.Rule{Route: footfall.AnyRoute, Event: "another"})
	answering := func(status int) func(C) error { return func(c C) error { return c.SendStatus(status) } }
	app := s.fiber(st.App)
	app.Use("/assets", fine[C])
	app.Use("/private", answering(http.StatusUnauthorized))
	s.get(app, "/private/page", fine[C])
	s.get(app, "/", fine[C])
	s.get(app, "/:slug", next[C]) // knows no such page
	app.Use(answering(http.StatusNotFound))
	st.Get("/assets/logo.svg")
	st.Get("/private/page")
	assert.Empty(st, st.Tracker.Names())
	st.Get("/nobody")
	st.Ask(adaptertest.Request{Method: "DELETE", Path: "/a/b/c"})
	st.Expect("missing", "missing")
}

func (s Subject[C, R]) headIsNoVisit(st *adaptertest.Stage) {
	st.Watch(adaptertest.Seen("GET /"), adaptertest.Seen("/"), adaptertest.Seen("/asked"),
		footfall.Rule{Route: "HEAD /asked", Event: "asked"}, footfall.Rule{Route: footfall.AnyRoute})
	for _, path := range []string{"/", "/asked", "/other"} {
		s.on(st, path, fine[C])
	}
	for _, path := range []string{"/", "/asked", "/other"} {
		status, _ := st.Ask(adaptertest.Request{Method: "HEAD", Path: path})
		assert.Equal(st, http.StatusOK, status)
	}
	st.Expect("asked")
}

func (s Subject[C, R]) routedAgainIsCountedOnce(st *adaptertest.Stage) {
	st.Watch(adaptertest.Seen(footfall.AnyRoute))
	s.on(st, "/old", func(c C) error {
		c.Path("/new")
		return c.RestartRouting()
	})
	s.on(st, "/new", func(c C) error { return s.Track(c, "tracked") })
	st.Get("/old")
	st.ExpectPage(st.URL("/old"), "tracked", "seen")
}

func (s Subject[C, R]) oneMiddlewareServesAll(st *adaptertest.Stage) {
	middleware := s.Middleware(st.Tracker.Tracker, adaptertest.Seen("GET /api/:id"), footfall.Rule{Route: "GET /alone", Event: "alone"})
	other := st.Another(st.T)
	s.get(s.Group(s.fiber(st.App), "/api", Handlers[C]{middleware}), "/:id", fine[C])
	s.on(other, "/alone", middleware, fine[C])
	s.on(other, "/api/:id", fine[C])
	st.Get("/api/7")
	other.Get("/alone")
	other.Get("/api/7") // not below the middleware
	st.Get("/api/8")
	other.Stop()
	st.Expect("seen", "alone", "seen")
}

func (s Subject[C, R]) timeoutIsRecordedAsSeen(st *adaptertest.Stage) {
	st.Watch(adaptertest.Classes(footfall.AnyRoute)...)
	ended := make(chan struct{})
	defer close(ended)
	s.on(st, "/slow", s.Timeout(ended))
	s.on(st, "/late", func(c C) error {
		s.TooLate(c, http.StatusServiceUnavailable)
		return nil
	})
	cookie := []string{"Cookie", "session=1"} // fasthttp joins cookies when they are read
	assert.Equal(st, http.StatusRequestTimeout, st.Get("/slow", cookie...))
	assert.Equal(st, http.StatusServiceUnavailable, st.Get("/late", cookie...))
	st.Expect("client error", "server error")
}

func (s Subject[C, R]) webSocketWorks(st *adaptertest.Stage) {
	st.Watch(footfall.Rule{Route: "GET /ws", Event: "connected", Status: footfall.Success})
	s.on(st, "/ws", func(c C) error {
		ctx := s.Context(c)
		return s.Upgrade(c, func(conn Conn) {
			kind, text, err := conn.ReadMessage()
			assert.NoError(st, err)
			assert.NoError(st, footfall.Track(ctx, "message_received"))
			assert.NoError(st, conn.WriteMessage(kind, text))
		})
	})
	ctx, cancel := context.WithTimeout(st.Context(), patience)
	defer cancel()
	answer, err := adaptertest.Send(ctx, "ws"+strings.TrimPrefix(st.URL("/ws"), "http"), "hello")
	require.NoError(st, err)
	assert.Equal(st, "hello", answer)
	st.ExpectPage(st.URL("/ws"), "connected", "message_received")
}

func (s Subject[C, R]) streamArrivesAsWritten(st *adaptertest.Stage) {
	st.Watch(adaptertest.Seen("GET /events"))
	read := make(chan struct{})
	s.on(st, "/events", func(c C) error {
		ctx := s.Context(c)
		s.Stream(c, func(w *bufio.Writer) {
			_, _ = io.WriteString(w, "data: first\n\n")
			assert.NoError(st, w.Flush())
			select {
			case <-read:
			case <-time.After(patience):
				st.Error("the first event did not arrive while the stream was open")
			}
			assert.NoError(st, footfall.Track(ctx, "streamed"))
		})
		return nil
	})
	answer, err := http.Get(st.URL("/events"))
	require.NoError(st, err)
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	close(read)
	require.NoError(st, err)
	assert.Equal(st, "data: first\n", line)
	st.Expect("seen", "streamed")
}

func (s Subject[C, R]) fileIsSentWhole(st *adaptertest.Stage) {
	const size = 100 << 20
	name := filepath.Join(st.TempDir(), "large.bin")
	file, err := os.Create(name)
	require.NoError(st, err)
	require.NoError(st, file.Truncate(size))
	require.NoError(st, file.Close())
	st.Watch(adaptertest.Seen("GET /file"))
	s.on(st, "/file", func(c C) error { return s.SendFile(c, name) })
	answer, err := http.Get(st.URL("/file"))
	require.NoError(st, err)
	n, err := io.Copy(io.Discard, answer.Body)
	require.NoError(st, err)
	answer.Body.Close()
	st.Expect("seen")
	assert.Equal(st, int64(size), n)
}

// UploadLeavesNoFile is for Fiber's own forms. It cannot run in parallel, because the
// process has one folder of temporary files.
func (s Subject[C, R]) UploadLeavesNoFile(t *testing.T) {
	tracker, app := footfalltest.New(t), s.app(false)
	app.Watch(tracker.Tracker, adaptertest.Seen("POST /upload"))
	s.Add(s.fiber(app), "POST", "/upload", Handlers[C]{func(c C) error {
		form, err := c.MultipartForm()
		if assert.NoError(t, err) {
			assert.Len(t, form.File["file"], 1)
		}
		assert.NotEmpty(t, adaptertest.TemporaryFiles(t), "the upload went into no file")
		return nil
	}})
	const size = 30 << 20 // fasthttp keeps 16 MB in memory
	adaptertest.UploadLeavesNoFile(t, size, app.Serve)
	assert.Equal(t, []string{"seen"}, tracker.Names())
}
