package footfallgrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
)

// The statuses are the gRPC gateway's (runtime.HTTPStatusFromCode).
var statuses = map[codes.Code]int{
	codes.OK: 200, codes.Canceled: 499, codes.Unknown: 500, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504,
	codes.NotFound: 404, codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.ResourceExhausted: 429,
	codes.FailedPrecondition: 400, codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501,
	codes.Internal: 500, codes.Unavailable: 503, codes.DataLoss: 500, codes.Unauthenticated: 401,
}

func TestEveryCodeHasTheStatusOfTheGateway(t *testing.T) {
	t.Parallel()
	assert.Len(t, statuses, 17)
	for code, want := range statuses {
		assert.Equal(t, want, statusOf(status.Error(code, "it fails")), code.String())
	}
	assert.Equal(t, 500, statusOf(status.Error(17, "no such code")))
	assert.Equal(t, 500, statusOf(status.Error(1<<32-1, "no such code")))
}

func TestErrorWithoutACodeHasTheCodeOfTheServer(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 200, statusOf(nil))
	assert.Equal(t, 500, statusOf(errors.New("it fails")))
	assert.Equal(t, 499, statusOf(fmt.Errorf("asking: %w", context.Canceled)))
	assert.Equal(t, 504, statusOf(context.DeadlineExceeded))
	assert.Equal(t, 404, statusOf(fmt.Errorf("asking: %w", status.Error(codes.NotFound, "none"))))
}

// The table in the package's documentation names each code once, with its status.
func TestTheDocumentedTableIsTheOneInUse(t *testing.T) {
	t.Parallel()
	want := make(map[string]int)
	for code, status := range statuses {
		want[strings.ToLower(code.String())] = status
	}
	assert.Equal(t, want, rpctest.DocumentedStatuses(t))
}
