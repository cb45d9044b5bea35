package transporttest_test

import (
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/transporttest"
)

func TestMain(m *testing.M) { transporttest.Main(m) }

// The default transport of a tracker.
func TestDefaultTransport(t *testing.T) { transporttest.Run(t, footfall.NewHTTPTransport) }
