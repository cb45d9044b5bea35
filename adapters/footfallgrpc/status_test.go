package footfallgrpc

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The statuses are the gRPC gateway's (runtime.HTTPStatusFromCode).
var statuses = map[codes.Code]int{
	codes.OK: 200, codes.Canceled: 499, codes.Unknown: 500, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504,
	codes.NotFound: 404, codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.ResourceExhausted: 429,
	codes.FailedPrecondition: 400, codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501,
	codes.Internal: 500, codes.Unavailable: 503, codes.DataLoss: 500, codes.Unauthenticated: 401,
}

func expectStatus(t *testing.T, want int, err error) {
	t.Helper()
	if got := statusOf(err); got != want {
		t.Errorf("the status of %v is %d, not %d", err, got, want)
	}
}

func TestEveryCodeHasTheStatusOfTheGateway(t *testing.T) {
	t.Parallel()
	if len(statuses) != 17 {
		t.Errorf("%d codes", len(statuses))
	}
	for code, want := range statuses {
		expectStatus(t, want, status.Error(code, "it fails"))
	}
	expectStatus(t, 500, status.Error(17, "no such code"))
	expectStatus(t, 500, status.Error(1<<32-1, "no such code"))
}

func TestErrorWithoutACodeHasTheCodeOfTheServer(t *testing.T) {
	t.Parallel()
	expectStatus(t, 200, nil)
	expectStatus(t, 500, errors.New("it fails"))
	expectStatus(t, 499, fmt.Errorf("asking: %w", context.Canceled))
	expectStatus(t, 504, context.DeadlineExceeded)
	expectStatus(t, 404, fmt.Errorf("asking: %w", status.Error(codes.NotFound, "none")))
}
