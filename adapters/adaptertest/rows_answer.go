package adaptertest

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
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
// middleware that must see the panic, and watch to add the adapter's. answered says that a
// recovery below the adapter answers http.ErrAbortHandler, too.
func panics(t *testing.T, f Framework, answered bool, arrange func(app App, watch func(), note func())) {
	for name, p := range panicking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker, app, event := quiet(t), f.New(), p.event
			if answered && p.value == http.ErrAbortHandler {
				event = "server error"
			}
			var came any
			note := func(_ Context, next func() error) error {
				defer func() {
					if came = recover(); came != nil {
						panic(came)
					}
				}()
				return next()
			}
			arrange(app, func() { app.Watch(tracker.Tracker, Classes(f.route("GET", "/panic"))...) }, func() { app.Use(note) })
			app.Handle("", "GET", f.Pattern("/panic"), func(Context) error { panic(p.value) })
			base, stop := open(t, app)
			if status := get(t, base, "/panic"); p.value != http.ErrAbortHandler {
				assert.Equal(t, http.StatusInternalServerError, status)
			}
			stop()
			assert.Equal(t, p.value, came)
			assert.Equal(t, []string{event}, tracker.Names())
		})
	}
}

func recoveryMayStandAbove(t *testing.T, f Framework) {
	panics(t, f, false, func(app App, watch, note func()) {
		app.Recover()
		note()
		watch()
	})
}

func recoveryMayStandBelow(t *testing.T, f Framework) {
	panics(t, f, f.AnswersAbort, func(app App, watch, note func()) {
		watch()
		app.Recover()
		note()
	})
}

func goexitIsAborted(t *testing.T, f Framework) {
	tracker, app := quiet(t), f.New()
	app.Watch(tracker.Tracker, Classes(f.route("GET", "/exit"))...)
	app.Handle("", "GET", f.Pattern("/exit"), func(Context) error { runtime.Goexit(); return nil })
	var ended sync.WaitGroup
	ended.Go(func() { app.Direct(t, "/exit") })
	ended.Wait()
	assert.Equal(t, []string{"aborted"}, tracker.Names())
}

func refusalIsRecorded(t *testing.T, f Framework) {
	tracker, app := quiet(t), f.New()
	app.Watch(tracker.Tracker, Classes(f.route("GET", "/admin"))...)
	app.Refuse()
	app.Handle("", "GET", f.Pattern("/admin"), nothing)
	base, stop := open(t, app)
	assert.Equal(t, http.StatusUnauthorized, get(t, base, "/admin"))
	stop()
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

func otherSpellingIsNoVisit(t *testing.T, f Framework) {
	tracker, app := quiet(t), f.New()
	app.Watch(tracker.Tracker, anyRoute)
	located := func(status int, to string) Handler {
		return func(c Context) error {
			c.SetHeader("Location", to)
			return c.Answer(status, "")
		}
	}
	app.Handle("", "GET", "/docs", located(http.StatusMovedPermanently, "/docs/"))
	app.Handle("", "GET", "/docs/", nothing)
	app.Handle("", "GET", "/old", located(http.StatusFound, "/new"))
	app.Handle("", "POST", "/docs", located(http.StatusCreated, "/docs/"))
	base, stop := open(t, app)
	for _, path := range []string{"/docs", "/docs/", "/old"} {
		get(t, base, path)
	}
	Ask(t, base, Request{Method: "POST", Path: "/docs"})
	stop()
	assert.Equal(t, []string{"get_docs", "get_old", "post_docs"}, tracker.Names())
}

func requestAboveIsAsWithout(t *testing.T, f Framework) {
	type key struct{}
	tracker, app := quiet(t), f.New()
	var came, after *http.Request
	app.Use(func(c Context, next func() error) error {
		came = c.Request()
		err := next()
		after = c.Request()
		return err
	})
	app.Watch(tracker.Tracker)
	app.Handle("", "GET", "/changed", func(c Context) error {
		assert.NotSame(t, came, c.Request())
		assert.Equal(t, "2", c.Request().FormValue("n"))
		c.Request().Method = "PUT"
		c.Request().Host = "elsewhere.example.com"
		return c.Answer(http.StatusOK, "")
	})
	app.Handle("", "GET", "/fails", func(c Context) error {
		assert.Equal(t, "2", c.Request().FormValue("n"))
		return c.Fail(http.StatusConflict)
	})
	app.Handle("", "GET", "/replaced", func(c Context) error {
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), key{}, "below")))
		return c.Answer(http.StatusOK, "")
	})
	base, _ := open(t, app)

	get(t, base, "/changed?n=2")
	assert.Same(t, came, after)
	assert.Equal(t, "2", after.Form.Get("n"))
	assert.Equal(t, "PUT", after.Method)
	assert.Equal(t, "elsewhere.example.com", after.Host)

	get(t, base, "/fails?n=2")
	assert.Equal(t, "2", came.Form.Get("n"))

	get(t, base, "/replaced")
	assert.Equal(t, "below", after.Context().Value(key{}), "the request that a handler put in was taken away")
}
