package echotest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// failure is a handler's error and how it is answered.
type failure[C Context, H, M any] struct {
	name    string
	above   M              // a middleware above
	answers func(C, error) // nil for echo's own HTTPErrorHandler
	handler H              // nil for one that returns errBoom
	status  int            // seen by the client
	want    []string       // the events
}

func (s Subject[C, H, M, R, G, E]) failures() []failure[C, H, M] {
	answered := func(answer func(C) error) func(C, error) { return func(c C, _ error) { _ = answer(c) } }
	with := func(instead func(c C, err error) error) M {
		return func(next H) H {
			return func(c C) error {
				if err := next(c); err != nil {
					return instead(c, err)
				}
				return nil
			}
		}
	}
	return []failure[C, H, M]{
		{name: "by echo", status: 500, want: []string{"server error"}},
		{name: "by echo, from an error with a status", status: 404, want: []string{"client error"},
			handler: func(C) error { return s.Error(http.StatusNotFound, errBoom) }},
		{name: "by the application's handler", status: 409, want: []string{"client error"},
			answers: answered(func(c C) error { return c.String(http.StatusConflict, "no") })},
		{name: "by the application's handler without a body", status: 204, want: []string{"success"},
			answers: answered(func(c C) error { return c.NoContent(http.StatusNoContent) })},
		{name: "by a middleware above", status: 303, want: []string{"success"},
			above: with(func(c C, _ error) error { return c.Redirect(http.StatusSeeOther, "/login") })},
		{name: "by a middleware above that makes another error of it", status: 429, want: []string{"client error"},
			above: with(func(_ C, err error) error { return s.Error(http.StatusTooManyRequests, err) })},
		{name: "by a logger above, at once", status: 500, want: []string{"server error"}, above: s.Logger()},
		{name: "by the handler already", status: 201, want: []string{"success"},
			handler: func(c C) error { _ = c.String(http.StatusCreated, "done"); return errBoom }},
		{name: "by nobody", status: 200, answers: func(C, error) {}},
		{name: "with a redirect to another spelling, which makes no event", status: 301,
			answers: answered(func(c C) error { return c.Redirect(http.StatusMovedPermanently, "/fails/") })},
	}
}

func (s Subject[C, H, M, R, G, E]) errorIsRecordedAsAnswered(t *testing.T) {
	for _, f := range s.failures() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			tracker, e := footfalltest.New(t), s.New()
			if f.answers != nil {
				s.OnError(e, f.answers)
			}
			if f.above != nil {
				e.Use(f.above)
			}
			var seen error
			e.Use(func(next H) H {
				return func(c C) error { seen = next(c); return seen }
			})
			e.Use(s.Middleware(tracker.Tracker, adaptertest.Classes("GET /fails")...))
			if f.handler == nil {
				f.handler = func(C) error { return errBoom }
			}
			e.GET("/fails", f.handler)
			base, stop := serve(t, e)
			assert.Equal(t, f.status, ask(t, base, "GET", "/fails"))
			stop()
			assert.ErrorIs(t, seen, errBoom, "what the middlewares above see")
			assert.ElementsMatch(t, f.want, tracker.Names())
		})
	}
}

func (s Subject[C, H, M, R, G, E]) errorHandlerIsCalledOnce(t *testing.T) {
	tracker, e, calls := footfalltest.New(t), s.New(), 0
	s.OnError(e, func(c C, err error) {
		calls++
		assert.NoError(t, s.Track(c, "failed", footfall.P("why", err.Error())))
		_ = c.String(http.StatusBadGateway, "no")
	})
	e.Use(s.Middleware(tracker.Tracker, adaptertest.Classes("GET /fails/:id")...))
	e.GET("/fails/:id", func(C) error { return errBoom })
	base, stop := serve(t, e)
	_, body := adaptertest.Ask(t, base, adaptertest.Request{Method: "GET", Path: "/fails/7"})
	stop()
	assert.Equal(t, "no", body)
	assert.Equal(t, 1, calls)
	require.Equal(t, []string{"failed", "server error"}, tracker.Names())
	assert.Equal(t, base+"/fails/7", tracker.Events()[0].URL)
}

// Changes that the handler makes, such as reading a form, are on the original request.
func (s Subject[C, H, M, R, G, E]) errorKeepsTheRequest(t *testing.T) {
	e := s.New()
	var came *http.Request
	e.Use(func(next H) H {
		return func(c C) error { came = c.Request(); return next(c) }
	})
	e.Use(s.Middleware(footfalltest.New(t).Tracker))
	e.GET("/fails", func(c C) error {
		assert.Equal(t, "2", c.FormValue("n"))
		return errBoom
	})
	s.OnError(e, func(C, error) {}) // answers nothing
	base, _ := serve(t, e)
	ask(t, base, "GET", "/fails?n=2")
	assert.Equal(t, "2", came.Form.Get("n"))
}

func (s Subject[C, H, M, R, G, E]) abortPassesRecovery(t *testing.T) {
	for name, order := range map[string]func(watch, recovery M) []M{
		"with the middleware above": func(watch, recovery M) []M { return []M{watch, recovery} },
		"with the middleware below": func(watch, recovery M) []M { return []M{recovery, watch} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := s.New()
			e.Use(order(s.Middleware(footfalltest.New(t).Tracker), s.Recover())...)
			e.GET("/panic", func(C) error { panic(http.ErrAbortHandler) })
			var came any
			base, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() {
					came = recover()
					panic(came)
				}()
				e.ServeHTTP(w, r)
			}))
			assert.Zero(t, ask(t, base, "GET", "/panic"), "the connection breaks")
			stop()
			assert.Equal(t, http.ErrAbortHandler, came)
		})
	}
}

// A flush sends 200, but echo does not notice: it still tries to answer a later error.
func (s Subject[C, H, M, R, G, E]) errorAfterFlush(t *testing.T) {
	tracker, e := footfalltest.New(t), s.New()
	e.Use(s.Middleware(tracker.Tracker, adaptertest.Classes("GET /export")...))
	e.GET("/export", func(c C) error {
		assert.NoError(t, http.NewResponseController(s.Writer(c)).Flush())
		return errBoom
	})
	base, stop := serve(t, e)
	assert.Equal(t, http.StatusOK, ask(t, base, "GET", "/export"))
	stop()
	assert.Equal(t, []string{"success"}, tracker.Names())
}
