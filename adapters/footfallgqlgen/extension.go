package footfallgqlgen

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/footfall-dev/footfall"
)

// watched is a server whose operations are observed.
type watched struct {
	*extension
	server *handler.Server
	none   *footfall.Rules // makes no event of the request itself
}

// ServeHTTP implements http.Handler.
func (w *watched) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	visit := w.none.Visit(r)
	q := &request{came: r, page: w.tracker.Page(r)}
	inner := visit.Request()
	inner = inner.WithContext(context.WithValue(inner.Context(), requestKey{}, q))
	defer func() {
		q.end()
		visit.End(footfall.Observation{Request: inner}) // hands back what the server changed
	}()
	w.server.ServeHTTP(rw, inner)
}

// requestKey is the key of a *request in a context.
type requestKey struct{}

// request is a request of HTTP, which may have any number of operations.
type request struct {
	came *http.Request
	page footfall.Page

	mu   sync.Mutex
	open []*call // streams, and operations with an answer that others follow
}

func (q *request) add(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.open, c) {
		q.open = append(q.open, c)
	}
}

func (q *request) remove(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = slices.DeleteFunc(q.open, func(other *call) bool { return other == c })
}

// end ends the operations that the server asks for no more answers.
func (q *request) end() {
	q.mu.Lock()
	open := slices.Clone(q.open)
	q.mu.Unlock()
	for _, c := range open {
		c.end()
	}
}

// extension is the extension of a server.
type extension struct {
	tracker *footfall.Tracker
	rules   *footfall.Rules
	routes  *routes
	key     string // of a call in the Stats of its operation
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationInterceptor
	graphql.ResponseInterceptor
} = (*extension)(nil)

func newExtension(tracker *footfall.Tracker, rules []footfall.Rule) *extension {
	e := &extension{tracker: tracker}
	e.routes, rules = newRoutes(rules)
	e.rules = tracker.Rules(rules...)
	e.key = fmt.Sprintf("Footfall %p", e)
	return e
}

// ExtensionName implements graphql.HandlerExtension.
func (*extension) ExtensionName() string { return "Footfall" }

// Validate implements graphql.HandlerExtension.
func (*extension) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation implements graphql.OperationInterceptor.
func (e *extension) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	if !graphql.HasOperationContext(ctx) {
		return next(ctx)
	}
	c := e.begin(ctx, graphql.GetOperationContext(ctx))
	if c == nil {
		return next(ctx)
	}
	return c.dispatch(e.tracker.WithPage(ctx, c.observation.Page), next)
}

// InterceptResponse implements graphql.ResponseInterceptor. Answers of operations that the server refuses before
// InterceptOperation come this way only.
func (e *extension) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	response := next(ctx)
	if response == nil || !graphql.HasOperationContext(ctx) { // as without an operation that can be read
		return response
	}
	op := graphql.GetOperationContext(ctx)
	switch {
	case op.Stats.GetExtension(e.key) != nil:
	case op.Operation == nil:
		e.unknown(ctx, op, response.Errors)
	default:
		if c := e.begin(ctx, op); c != nil {
			c.count(response.Errors)
			c.end()
		}
	}
	return response
}

// unknown observes a request whose text is no operation of the schema.
func (e *extension) unknown(ctx context.Context, op *graphql.OperationContext, errs gqlerror.List) {
	for _, err := range errs {
		if code := err.Extensions["code"]; code == errcode.ParseFailed || code == errcode.ValidationFailed {
			q := e.requestOf(ctx, op)
			e.rules.Observe(&footfall.Observation{Method: q.came.Method, Status: http.StatusNotFound, Page: q.page, Context: ctx, Request: q.came})
			return
		}
	}
}

// requestOf returns the request of an operation. If the application serves the server itself, not the
// handler of Middleware, only the headers are known.
func (e *extension) requestOf(ctx context.Context, op *graphql.OperationContext) *request {
	if q, ok := ctx.Value(requestKey{}).(*request); ok {
		return q
	}
	r := (&http.Request{Method: http.MethodPost, URL: &url.URL{Path: "/"}, Header: op.Headers}).WithContext(ctx)
	return &request{came: r, page: e.tracker.Page(r)}
}

// begin returns the call of an operation, or nil if no rule is for it.
func (e *extension) begin(ctx context.Context, op *graphql.OperationContext) *call {
	route := e.routes.of(op.Operation, op.Doc)
	if route == "" {
		return nil
	}
	q := e.requestOf(ctx, op)
	kind, _, _ := strings.Cut(route, " ")
	c := &call{rules: e.rules, request: q, streams: op.Operation.Operation == ast.Subscription, status: http.StatusOK}
	c.observation = footfall.Observation{Method: kind, Route: route, Page: q.page.WithRoute(route), Context: ctx, Request: q.came}
	op.Stats.SetExtension(e.key, c)
	e.rules.NoteObserved(q.came.Context())
	return c
}

// call is one operation.
type call struct {
	rules       *footfall.Rules
	request     *request
	observation footfall.Observation
	streams     bool

	mu     sync.Mutex
	status int
	ended  bool
}

// dispatch starts the operation. A panic passes on; dispatch does not recover it, so that its stack remains.
func (c *call) dispatch(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	returned := false
	defer func() {
		if !returned {
			c.panicked()
		}
	}()
	responses := next(ctx)
	returned = true
	if c.streams {
		c.request.add(c)
	}
	return func(ctx context.Context) *graphql.Response { return c.next(ctx, responses) }
}

// next returns the next answer, or nil after the last one.
func (c *call) next(ctx context.Context, responses graphql.ResponseHandler) *graphql.Response {
	returned := false
	defer func() {
		if !returned {
			c.panicked()
		}
	}()
	response := responses(ctx)
	returned = true
	if response != nil {
		c.count(response.Errors)
	}
	switch {
	case response == nil:
		c.end()
	case c.streams:
	case response.HasNext != nil && *response.HasNext:
		c.request.add(c)
	default:
		c.end()
	}
	return response
}

// count notes an answer with errors.
func (c *call) count(errs gqlerror.List) {
	status := statusOf(errs)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = max(c.status, status)
}

func (c *call) panicked() {
	c.mu.Lock()
	c.status = http.StatusInternalServerError
	c.mu.Unlock()
	c.end()
}

// end observes the operation, once.
func (c *call) end() {
	c.mu.Lock()
	again, status := c.ended, c.status
	c.ended = true
	c.mu.Unlock()
	if again {
		return
	}
	c.request.remove(c)
	c.observation.Status = status
	c.rules.Observe(&c.observation)
}
