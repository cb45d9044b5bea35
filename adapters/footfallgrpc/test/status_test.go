package footfallgrpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"

	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
	"github.com/footfall-dev/footfall/adapters/internal/rpcstatus"
)

// The table in the package's documentation names each code once, with its status.
func TestTheDocumentedTableIsTheOneInUse(t *testing.T) {
	t.Parallel()
	want := make(map[string]int)
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		want[strings.ToLower(code.String())] = rpcstatus.Of(uint32(code))
	}
	assert.Equal(t, want, rpctest.DocumentedStatuses(t, "../adapter.go"))
}
