package footfallgin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallgin"
)

// abortStatus is the answer of this version's gin.Recovery to http.ErrAbortHandler.
func abortStatus() int {
	engine := gin.New()
	engine.Use(gin.RecoveryWithWriter(io.Discard))
	engine.GET("/", func(*gin.Context) { panic(http.ErrAbortHandler) })
	return ask(engine, "GET", "/").Code
}

// changesStatus reports whether this version of gin changes the status of an answer that has begun.
func changesStatus() bool {
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Writer.WriteHeaderNow()
	c.Writer.WriteHeader(http.StatusTeapot)
	return c.Writer.Status() == http.StatusTeapot
}

// app is an engine as an application of the tests.
type app struct {
	adaptertest.Server
	engine *gin.Engine
}

func newApp() adaptertest.App {
	engine := gin.New()
	engine.UseRawPath = true
	return app{adaptertest.Server{Handler: engine}, engine}
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

func (a app) Handle(groups []string, method, pattern string, h adaptertest.Handler) {
	group := &a.engine.RouterGroup
	for _, prefix := range groups {
		group = group.Group(prefix)
	}
	if method == "" {
		group.Any(pattern, handler(h))
		return
	}
	group.Handle(method, pattern, handler(h))
}

func handler(h adaptertest.Handler) gin.HandlerFunc {
	return func(c *gin.Context) { _ = h(request{c}) } // there is no error
}

func (a app) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return footfallgin.CheckRules(tracker, a.engine, rules...)
}

// request is a request of the tests.
type request struct{ c *gin.Context }

func (r request) Track(name string, props ...footfall.Prop) error {
	return footfallgin.Track(r.c, name, props...)
}
func (r request) Context() context.Context       { return r.c.Request.Context() }
func (r request) SetContext(ctx context.Context) { r.c.Request = r.c.Request.WithContext(ctx) }
func (r request) Request() *http.Request         { return r.c.Request }
func (r request) Writer() http.ResponseWriter    { return r.c.Writer }
func (r request) Param(name string) string       { return r.c.Param(name) }
func (r request) Header(name string) string      { return r.c.GetHeader(name) }
func (r request) SetHeader(name, value string)   { r.c.Header(name, value) }

func (r request) Answer(status int, text string) error {
	r.c.String(status, text)
	return nil
}

func (r request) Fail(status int) error {
	_ = r.c.AbortWithError(status, errors.New("it fails")) // gin notes it
	return nil
}

func (r request) Serve(h http.Handler) error {
	gin.WrapH(h)(r.c)
	return nil
}
