package footfallgin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallgin"
)

func TestTheAdapterBehavesLikeTheOthers(t *testing.T) {
	t.Parallel()
	adaptertest.Behave(t, adaptertest.Framework{
		New: func() adaptertest.App {
			engine := gin.New()
			return app{adaptertest.Server{Handler: engine}, engine}
		},
		Pattern: adaptertest.Replace(":", "*rest"), AnswersAbort: answersAbort(),
		Values: []adaptertest.Values{
			{Pattern: "/depots/:depot/files/*path", Path: "/depots/3/files/a/b%20c", Want: map[string]any{"depot": "3", "path": "/a/b c"}},
		},
	})
}

// answersAbort reports whether gin.Recovery of this version answers http.ErrAbortHandler.
func answersAbort() bool {
	engine := gin.New()
	engine.Use(gin.RecoveryWithWriter(io.Discard))
	engine.GET("/", func(*gin.Context) { panic(http.ErrAbortHandler) })
	return ask(engine, "GET", "/").Code == http.StatusInternalServerError
}

// app is an engine as an application of adaptertest.Behave.
type app struct {
	adaptertest.Server
	engine *gin.Engine
}

func (a app) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.engine.Use(footfallgin.Middleware(tracker, rules...))
}

func (a app) Use(m adaptertest.Middleware) {
	a.engine.Use(func(c *gin.Context) { _ = m(request{c}, func() error { c.Next(); return nil }) }) // there is no error
}

func (a app) Recover() { a.engine.Use(gin.RecoveryWithWriter(io.Discard)) }
func (a app) Refuse() {
	a.engine.Use(func(c *gin.Context) { c.AbortWithStatus(http.StatusUnauthorized) })
}

func (a app) Handle(prefix, method, pattern string, h adaptertest.Handler) {
	a.engine.Group(prefix).Handle(method, pattern, func(c *gin.Context) { _ = h(request{c}) }) // there is no error
}

func (a app) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return footfallgin.CheckRules(tracker, a.engine, rules...)
}

// request is a request of adaptertest.Behave.
type request struct{ c *gin.Context }

func (r request) Track(name string, props ...footfall.Prop) error {
	return footfallgin.Track(r.c, name, props...)
}
func (r request) Context() context.Context     { return r.c.Request.Context() }
func (r request) Request() *http.Request       { return r.c.Request }
func (r request) SetRequest(to *http.Request)  { r.c.Request = to }
func (r request) Param(name string) string     { return r.c.Param(name) }
func (r request) SetHeader(name, value string) { r.c.Header(name, value) }

func (r request) Answer(status int, text string) error {
	r.c.String(status, text)
	return nil
}

func (r request) Fail(status int) error {
	_ = r.c.AbortWithError(status, errors.New("it fails")) // gin notes it
	return nil
}
