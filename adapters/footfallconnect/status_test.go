package footfallconnect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"
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
	if answered(connect.NewError(connect.CodeCanceled, nil)) == http.StatusRequestTimeout {
		t.Skip("connect before v1.16.2 answers some codes with other statuses than the Connect protocol has now")
	}
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
		if want, got := answered(err), statusOf(err); got != want {
			t.Errorf("the status of %v is %d, not %d", err, got, want)
		}
	}
}
