// Package footfallgqlgen makes events of the operations that a server of
// github.com/99designs/gqlgen has answered, over HTTP, SSE and WebSocket: see Middleware.
// Resolvers track events that no rule can describe with Track(ctx, "coupon_applied").
//
// The route of an operation is its type and its name, as GraphQL writes them: "query Products",
// "mutation Checkout", "subscription StockChanged". An operation without a name has the name of its
// first root field, without its alias: "query products" for { products { id } }.
//
// The status of an operation is 200 if no answer has errors, also if the answer to the HTTP
// request has another status. Otherwise it is the highest status of its errors, although
// the answer may have data. An error's extensions.code decides its status:
//
//	400 BAD_REQUEST, BAD_USER_INPUT, COMPLEXITY_LIMIT_EXCEEDED, GRAPHQL_PARSE_FAILED,
//	400 GRAPHQL_VALIDATION_FAILED, OPERATION_RESOLUTION_FAILURE
//	401 UNAUTHENTICATED, UNAUTHORIZED                   409 ALREADY_EXISTS, CONFLICT
//	403 FORBIDDEN, PERMISSION_DENIED                    429 RATE_LIMITED, TOO_MANY_REQUESTS
//	404 NOT_FOUND                                       500 any other, and none
//
// A code that is a number from 400 to 599 is the status itself. Without a code, an error that
// wraps context.Canceled has 499, and one that wraps context.DeadlineExceeded has 504.
package footfallgqlgen

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"

	"github.com/footfall-dev/footfall"
)

// Middleware returns a middleware that makes events of answered operations, as rules say, and
// lets footfall.Track find tracker and page in the contexts of resolvers. It adds an extension to
// the server that it is put around: serve requests by the handler that it returns, not by the server. It
// changes nothing of an answer and starts no goroutine. Wrong rules are logged and left out: see CheckRules.
//
// Each operation is observed once, when it has ended: a query and a mutation with their last answer, a
// subscription when its stream ends, whether the resolver, the client or the end of the connection ended it.
// A subscription is as successful as its answers: a client that leaves is no error.
//
// Extensions run in the order of server.Use: add an extension that checks
// permissions after the Middleware, to observe what it refuses. An operation that the server refuses
// before it runs, because of its variables or its complexity, is observed with the error. A request
// without an operation makes no event: its text cannot be read, parsed or validated, or a hash of persisted queries is not
// known. Rules for footfall.NoRoute count texts that cannot be parsed or validated.
//
// Clients choose the names of operations. footfall.AnyRoute names events after the first 1,000 names of operations that no
// rule names, by type and name: query_products. Later names, and names of more than 100 bytes, count together as query_other,
// mutation_other and subscription_other. Names of rules and of root fields always count as themselves. AnyRoute leaves
// out introspection: operations with only root fields such as __schema and __typename.
//
// The page is the URL of the HTTP request. For operations that web pages send, footfall.PageReferer or
// Config.PageHeader makes the web page the event's page. With footfall.PageRoute, the path of the page is the name of the operation.
//
// If Tracker.Middleware or an adapter for a router is above, its rules for footfall.AnyRoute leave out the
// requests whose operations the rules here name. Its other rules count the request, too.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) func(*handler.Server) http.Handler {
	e := newExtension(tracker, rules)
	return func(server *handler.Server) http.Handler {
		server.Use(e)
		return &watched{e, server, tracker.Rules()}
	}
}

// Track is footfall.Track, for resolvers. The error is footfall.ErrNoTracker without the
// Middleware or with Config.NoContextValue.
func Track(ctx context.Context, name string, props ...footfall.Prop) error {
	return footfall.Track(ctx, name, props...)
}

// CheckRules returns an error that joins one for every rule that is wrong, whose route is not a type and a name of an
// operation, or whose type of operations the schema does not have. It cannot know the names that clients send.
// Call it at start-up.
func CheckRules(tracker *footfall.Tracker, schema graphql.ExecutableSchema, rules ...footfall.Rule) error {
	if tracker == nil {
		return nil
	}
	var problems []error
	var registered []string
	var sound []footfall.Rule
	for _, r := range rules {
		op, reason := operationOf(r.Route)
		if reason == "" && op.kind != "" && !op.isIn(schema.Schema()) {
			reason = "the schema has no " + op.kind
		}
		if reason != "" {
			problems = append(problems, &footfall.FieldError{Field: "Rule{" + strconv.Quote(r.Route) + "}.Route", Reason: reason})
			continue
		}
		if op.kind != "" {
			r.Route = op.route()
			registered = append(registered, r.Route)
		}
		sound = append(sound, r)
	}
	return errors.Join(append(problems, asWritten(tracker.CheckRoutes(registered, sound...)))...)
}

// asWritten returns err with the routes as rules write them, without a slash before the name.
func asWritten(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var problems []error
	for _, err := range joined.Unwrap() {
		if bad, ok := errors.AsType[*footfall.FieldError](err); ok {
			err = &footfall.FieldError{Field: strings.Replace(bad.Field, " /", " ", 1), Reason: bad.Reason}
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
