package embedded

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnEmbeddedServerSyncsEachWrite(t *testing.T) {
	t.Parallel()
	s, err := start(Options{Dir: t.TempDir(), Address: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer s.Shutdown()
	assert.True(t, s.JetStreamConfig().SyncAlways)
}
