package footfallconnect_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
	"github.com/footfall-dev/footfall/adapters/internal/rpcstatus"
)

// The table in the package's documentation names each code once, with its status.
func TestTheDocumentedTableIsTheOneInUse(t *testing.T) {
	t.Parallel()
	want := make(map[string]int)
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		want[strings.ReplaceAll(code.String(), "_", "")] = rpcstatus.Of(uint32(code))
	}
	assert.Equal(t, want, rpctest.DocumentedStatuses(t, "../adapter.go"))
}
