package footfallconnect

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
)

// answered is the status that connect itself answers an error of a unary RPC with.
func answered(err error) int {
	handler := connect.NewUnaryHandler("/shop.v1.CartService/Add", func(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[emptypb.Empty], error) {
		return connect.NewResponse(new(emptypb.Empty)), err
	})
	r := httptest.NewRequest("POST", "/shop.v1.CartService/Add", nil)
	r.Header.Set("Content-Type", "application/proto")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

func TestEveryErrorHasTheStatusThatConnectAnswersWith(t *testing.T) {
	t.Parallel()
	failures := []error{
		nil,
		errors.New("it fails"),
		context.Canceled,
		fmt.Errorf("asking: %w", context.DeadlineExceeded),
		fmt.Errorf("asking: %w", os.ErrDeadlineExceeded),
		fmt.Errorf("asking: %w", connect.NewError(connect.CodeNotFound, errors.New("none"))),
		connect.NewError(connect.CodeNotFound, context.Canceled),
		connect.NewError(connect.CodeUnknown, context.Canceled),
		connect.NewNotModifiedError(nil), // of a POST
		connect.NewError(0, errors.New("no such code")),
		connect.NewError(99, errors.New("no such code")),
		connect.NewError(1<<32-1, errors.New("no such code")),
	}
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated+1; code++ {
		failures = append(failures, connect.NewError(code, errors.New("it fails")))
	}
	for _, err := range failures {
		assert.Equal(t, answered(err), statusOf(err), "%v", err)
	}
}

// The table in the package's documentation names each code once, with its status.
func TestTheDocumentedTableIsTheOneInUse(t *testing.T) {
	t.Parallel()
	want := make(map[string]int)
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		want[strings.ReplaceAll(code.String(), "_", "")] = statusOf(connect.NewError(code, nil))
	}
	assert.Equal(t, want, rpctest.DocumentedStatuses(t))
}
