package adaptertest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

// panicking has values that handlers panic with, and the event of each.
var panicking = map[string]struct {
	value any
	event string
}{
	"an error":             {errBoom, "server error"},
	"a string":             {"boom", "server error"},
	"http.ErrAbortHandler": {http.ErrAbortHandler, "aborted"},
}

// panics checks a panic in an application that arrange makes. arrange calls note to add a
// middleware that must see the panic. below says that the recovery is below the adapter.
func panics(s *Stage, below bool, arrange func(s *Stage, watch, note func())) {
	for name, p := range panicking {
		s.Each(name, func(s *Stage) {
			var came any
			note := func(_ Context, next func() error) error {
				defer func() {
					if came = recover(); came != nil {
						panic(came)
					}
				}()
				return next()
			}
			arrange(s, func() { s.Watch(Classes(s.Route("/panic"))...) }, func() { s.App.Use(note) })
			s.On("/panic", func(Context) error { panic(p.value) })
			event, status := p.event, http.StatusInternalServerError
			if p.value == http.ErrAbortHandler {
				status = s.AbortStatus
				if below && status == http.StatusInternalServerError {
					event = "server error"
				}
			}
			assert.Equal(s, status, s.Get("/panic"))
			s.Expect(event)
			assert.Equal(s, p.value, came)
		})
	}
}

func recoveryMayStandAbove(s *Stage) {
	panics(s, false, func(s *Stage, watch, note func()) {
		s.App.Recover()
		note()
		watch()
	})
}

func recoveryMayStandBelow(s *Stage) {
	panics(s, true, func(s *Stage, watch, note func()) {
		watch()
		s.App.Recover()
		note()
	})
}

func goexitIsAborted(s *Stage) {
	s.Watch(Classes(s.Route("/exit"))...)
	s.On("/exit", func(Context) error { runtime.Goexit(); return nil })
	var ended sync.WaitGroup
	ended.Go(func() { s.App.Direct(s, "/exit") })
	ended.Wait()
	assert.Equal(s, []string{"aborted"}, s.Tracker.Names())
}

func refusalIsRecorded(s *Stage) {
	s.Watch(Classes(s.Route("/admin"))...)
	s.App.Refuse()
	s.On("/admin", Fine)
	assert.Equal(s, http.StatusUnauthorized, s.Get("/admin"))
	s.Expect("client error")
}

func errorIsRecordedAsAnswered(s *Stage) {
	answers := func(status int, location string) func(Context, error) {
		return func(c Context, _ error) {
			if location != "" {
				c.SetHeader("Location", location)
			}
			_ = c.Answer(status, "")
		}
	}
	for name, tt := range map[string]struct {
		fails   int
		answers func(Context, error) // nil for the framework's
		status  int                  // which the client sees
		want    []string
	}{
		"by the framework":                                {500, nil, 500, []string{"server error"}},
		"by the framework as not found":                   {404, nil, 404, []string{"client error"}},
		"by the application":                              {500, answers(409, ""), 409, []string{"client error"}},
		"by the application, as a success without a body": {500, answers(204, ""), 204, []string{"success"}},
		"by the application, with a redirect to another spelling, which makes no event": {500, answers(301, "/fails/"), 301, nil},
	} {
		if tt.answers != nil && s.OnError == nil {
			continue
		}
		s.Each(name, func(s *Stage) {
			if tt.answers != nil {
				s.OnError(s.App, tt.answers)
			}
			s.Watch(Classes(s.Route("/fails"))...)
			s.On("/fails", Failing(tt.fails))
			assert.Equal(s, tt.status, s.Get("/fails"))
			s.Expect(tt.want...)
		})
	}
}

func errorHandlerIsCalledOnce(s *Stage) {
	calls := 0
	s.OnError(s.App, func(c Context, err error) {
		calls++
		assert.NoError(s, c.Track("failed", footfall.P("why", err.Error())))
		_ = c.Answer(http.StatusBadGateway, "no")
	})
	s.Watch(Classes(s.Route("/fails/{id}"))...)
	s.On("/fails/{id}", Failing(500))
	_, body := s.Ask(Request{Path: "/fails/7"})
	assert.Equal(s, "no", body)
	s.ExpectPage(s.URL("/fails/7"), "failed", "server error")
	assert.Equal(s, 1, calls)
}

// A flush sends 200, but a framework may not notice, and try to answer a later error.
func errorAfterFlush(s *Stage) {
	s.Watch(Classes(s.Route("/export"))...)
	s.On("/export", func(c Context) error {
		assert.NoError(s, http.NewResponseController(c.Writer()).Flush())
		return c.Fail(http.StatusInternalServerError)
	})
	assert.Equal(s, http.StatusOK, s.Get("/export"))
	s.Expect("success")
}

// A refused upgrade is an ordinary answer. A WebSocket handler often returns the error that ended the connection. A framework may write an
// answer to the error although the connection is hijacked.
func hijackedIsSuccess(s *Stage) {
	s.Each("it refuses", func(s *Stage) {
		s.Watch(Classes(s.Route("/ws"))...)
		s.On("/ws", Failing(http.StatusForbidden))
		assert.Equal(s, http.StatusForbidden, s.Get("/ws", "Connection", "Upgrade", "Upgrade", "websocket"))
		s.Expect("client error")
	})
	for name, fails := range map[string]bool{"it fails": true, "it does not fail": false} {
		s.Each(name, func(s *Stage) {
			returned := make(chan struct{}) // the server does not wait for a handler with a hijacked connection
			s.App.Use(func(_ Context, next func() error) error { defer close(returned); return next() })
			s.Watch(Classes(s.Route("/ws"))...)
			s.On("/ws", func(c Context) error {
				conn, _, err := http.NewResponseController(c.Writer()).Hijack()
				if !assert.NoError(s, err) {
					return err
				}
				_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: none\r\nConnection: Upgrade\r\n\r\n")
				assert.NoError(s, errors.Join(err, conn.Close()))
				if fails {
					return c.Fail(http.StatusInternalServerError)
				}
				return nil
			})
			assert.Equal(s, http.StatusSwitchingProtocols, s.Get("/ws", "Connection", "Upgrade", "Upgrade", "none"))
			<-returned
			s.Expect("success")
		})
	}
}

// As http.TimeoutHandler does when the time is up.
func answerInPlaceIsBelieved(s *Stage) {
	s.Watch(Classes(s.Route("/{way}"))...)
	s.UseHTTP(s.App, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
	})
	s.On("/{way}", func(c Context) error {
		if c.Param("way") == "fails" {
			return c.Fail(http.StatusForbidden)
		}
		return c.Answer(http.StatusNotFound, "no")
	})
	assert.Equal(s, http.StatusServiceUnavailable, s.Get("/answers"))
	assert.Equal(s, http.StatusServiceUnavailable, s.Get("/fails"))
	s.Expect("server error", "server error")
}

func otherSpellingIsNoVisit(s *Stage) {
	if s.Strict != nil {
		s.App = s.Strict()
	}
	s.Watch(anyRoute)
	located := func(status int, to string) Handler {
		return func(c Context) error {
			c.SetHeader("Location", to)
			return c.Answer(status, "")
		}
	}
	s.On("/docs", located(http.StatusMovedPermanently, "/docs/"))
	s.On("/docs/", Fine)
	s.On("/old", located(http.StatusFound, "/new"))
	s.App.Handle(nil, "POST", "/docs", located(http.StatusCreated, "/docs/"))
	for _, path := range []string{"/docs", "/docs/", "/old"} {
		s.Get(path)
	}
	s.Ask(Request{Method: "POST", Path: "/docs"})
	s.Expect("get_docs", "get_old", "post_docs")
}
