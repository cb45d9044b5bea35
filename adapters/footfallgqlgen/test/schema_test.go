package footfallgqlgen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
)

// The example gqlgen has generated code, which compiles with one version of gqlgen only.
const schemaText = `
type Query { products: [String!]! account(code: String): String }
type Mutation { checkout(code: String): Boolean upload(file: Upload!): Int! }
type Subscription { stockChanged(code: String): Int }
scalar Upload
`

// newSchema returns a schema with resolvers that fail as the argument code says. running counts the
// goroutines of subscriptions.
func newSchema(running *atomic.Int32) graphql.ExecutableSchema {
	parsed := gqlparser.MustLoadSchema(&ast.Source{Input: schemaText})
	return &graphql.ExecutableSchemaMock{SchemaFunc: func() *ast.Schema { return parsed }, ExecFunc: func(ctx context.Context) graphql.ResponseHandler {
		op := graphql.GetOperationContext(ctx)
		if op.Operation.Operation == ast.Subscription {
			return subscribe(ctx, op, running)
		}
		answered := false
		return func(ctx context.Context) *graphql.Response {
			if answered {
				return nil
			}
			answered = true
			data := make(map[string]any)
			for _, f := range graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Query", "Mutation"}) {
				data[f.Alias] = resolve(ctx, f.Field, f.ArgumentMap(op.Variables))
			}
			return response(data)
		}
	}}
}

func response(data map[string]any) *graphql.Response {
	text, _ := json.Marshal(data) // never fails
	return &graphql.Response{Data: text}
}

// resolve returns the value of a field, as generated code does.
func resolve(ctx context.Context, f *ast.Field, arguments map[string]any) (value any) {
	defer func() {
		if recover() != nil {
			graphql.AddError(ctx, errors.New("internal system error"))
		}
	}()
	var err error
	switch code := arguments["code"]; {
	case f.Name == "products":
		return []string{"tea"}
	case f.Name == "upload":
		text, _ := io.ReadAll(arguments["file"].(graphql.Upload).File)
		return len(text)
	case code == "track":
		err = footfallgqlgen.Track(ctx, "tracked")
	default:
		err = failure(code)
	}
	if err != nil {
		graphql.AddError(ctx, err)
	}
	return nil
}

// subscribe sends three numbers, or one until the client leaves.
func subscribe(ctx context.Context, op *graphql.OperationContext, running *atomic.Int32) graphql.ResponseHandler {
	f := op.Operation.SelectionSet[0].(*ast.Field)
	code := f.ArgumentMap(op.Variables)["code"]
	endless := code == "endless"
	if !endless {
		if err := failure(code); err != nil {
			graphql.AddError(ctx, err)
			return nil
		}
	}
	left := make(chan int)
	running.Add(1)
	go func() {
		defer running.Add(-1)
		defer close(left)
		for i := 3; i > 0; i-- {
			select {
			case left <- i:
			case <-ctx.Done():
				return
			}
			if endless {
				<-ctx.Done()
				return
			}
		}
	}()
	return func(ctx context.Context) *graphql.Response {
		select {
		case n, ok := <-left:
			if ok {
				return response(map[string]any{f.Alias: n})
			}
		case <-ctx.Done():
		}
		return nil
	}
}

// failure returns the error of a code.
func failure(code any) error {
	switch code {
	case nil:
		return nil
	case "panic":
		panic("it fails")
	case "canceled":
		return fmt.Errorf("asking the stock: %w", context.Canceled)
	case "late":
		return fmt.Errorf("asking the stock: %w", context.DeadlineExceeded)
	case "none":
		return errors.New("it fails")
	}
	return &gqlerror.Error{Message: "it fails", Extensions: map[string]any{"code": code}}
}

// limit is an extension that refuses operations with more than 20 root fields.
type limit struct{ panics }

func (limit) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	return next(ctx)
}

func (limit) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	if len(op.Operation.SelectionSet) > 20 {
		return &gqlerror.Error{Message: "too complex", Extensions: map[string]any{"code": "COMPLEXITY_LIMIT_EXCEEDED"}}
	}
	return nil
}
