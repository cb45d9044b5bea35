package echotest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// A WebSocket handler often returns the error that ended the connection. Echo writes an
// answer to the error although the connection is hijacked.
func (s Subject[C, H, M, R, G, E]) takenOverIsSuccess(t *testing.T) {
	for name, returns := range map[string]error{"an error": errBoom, "no error": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker, e := footfalltest.New(t), s.New()
			e.Use(s.Middleware(tracker.Tracker, adaptertest.Classes("GET /ws")...))
			e.GET("/ws", func(c C) error {
				assert.Implements(t, (*io.ReaderFrom)(nil), s.Writer(c))
				conn, _, err := http.NewResponseController(s.Writer(c)).Hijack()
				if !assert.NoError(t, err) {
					return err
				}
				_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: none\r\nConnection: Upgrade\r\n\r\n")
				return errors.Join(returns, err, conn.Close())
			})
			var returned sync.WaitGroup // the server does not wait for a handler whose connection is taken over
			returned.Add(1)
			base, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer returned.Done()
				e.ServeHTTP(w, r)
			}))
			assert.Equal(t, http.StatusSwitchingProtocols, ask(t, base, "GET", "/ws", "Connection", "Upgrade", "Upgrade", "none"))
			returned.Wait()
			assert.Equal(t, []string{"success"}, tracker.Names())
		})
	}
}

func (s Subject[C, H, M, R, G, E]) refusedUpgradeIsAnAnswer(t *testing.T) {
	tracker, e := footfalltest.New(t), s.New()
	e.Use(s.Middleware(tracker.Tracker, adaptertest.Classes("GET /ws")...))
	e.GET("/ws", func(C) error { return s.Error(http.StatusForbidden, errBoom) })
	base, stop := serve(t, e)
	assert.Equal(t, http.StatusForbidden, ask(t, base, "GET", "/ws", "Upgrade", "websocket"))
	stop()
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

// copying is a middleware of net/http that copies the request and wraps the writer.
func copying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(struct{ http.ResponseWriter }{w}, r.WithContext(r.Context()))
	})
}

// showing is copying with a writer that http.ResponseController sees through.
func showing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(window{w}, r.WithContext(r.Context()))
	})
}

type window struct{ http.ResponseWriter }

// Unwrap implements what http.ResponseController looks for.
func (w window) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s Subject[C, H, M, R, G, E]) writersAreSeenThrough(t *testing.T) {
	gzip, copies, shows := s.Gzip(), s.WrapMiddleware(copying), s.WrapMiddleware(showing)
	for _, tt := range []struct {
		name, accepts string
		above, below  []M
	}{
		{"compression above", "gzip", []M{gzip}, nil},
		{"compression below", "gzip", nil, []M{gzip}},
		{"a middleware of net/http above", "gzip", []M{copies}, nil},
		{"a middleware of net/http below", "gzip", nil, []M{copies}},
		{"both of both", "gzip", []M{gzip, shows}, []M{shows, gzip}},
		// Not compressed: echo 5 answers the error by a Response that cannot be reached
		// through a writer that hides it (README, "What is impossible").
		{"both of both, by a writer that hides what is below", "identity", []M{gzip, copies}, []M{copies, gzip}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker, e := footfalltest.New(t), s.New()
			e.Use(tt.above...)
			e.Use(s.Middleware(tracker.Tracker, adaptertest.Classes("GET /:way")...))
			e.Use(tt.below...)
			e.GET("/:way", s.failing(http.StatusServiceUnavailable))
			base, stop := serve(t, e)
			assert.Equal(t, http.StatusServiceUnavailable, ask(t, base, "GET", "/fails", "Accept-Encoding", tt.accepts))
			assert.Equal(t, http.StatusNotFound, ask(t, base, "GET", "/answers", "Accept-Encoding", tt.accepts))
			stop()
			assert.Equal(t, []string{"server error", "client error"}, tracker.Names())
		})
	}
}

// failing returns a handler that fails with a status on the path /fails, and answers 404 on
// others.
func (s Subject[C, H, M, R, G, E]) failing(status int) H {
	return func(c C) error {
		if c.Param("way") == "fails" {
			return s.Error(status, errBoom)
		}
		return c.String(http.StatusNotFound, "no")
	}
}

// As http.TimeoutHandler does when the time is up.
func (s Subject[C, H, M, R, G, E]) answerInPlaceIsBelieved(t *testing.T) {
	tracker, e := footfalltest.New(t), s.New()
	e.Use(s.Middleware(tracker.Tracker, adaptertest.Classes("GET /:way")...), s.WrapMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
	}))
	e.GET("/:way", s.failing(http.StatusForbidden))
	base, stop := serve(t, e)
	assert.Equal(t, http.StatusServiceUnavailable, ask(t, base, "GET", "/answers"))
	assert.Equal(t, http.StatusServiceUnavailable, ask(t, base, "GET", "/fails"))
	stop()
	assert.Equal(t, []string{"server error", "server error"}, tracker.Names())
}
