//go:build ci

package latency

import (
	"log/slog"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/report"
)

func TestDeliveredEventsOfADistantAPIAreCounted(t *testing.T) {
	all := []situation{
		{name: "few", delay: 20 * time.Millisecond, inFlight: 4, atLeast: 100},
		{name: "slow", delay: 5 * time.Millisecond, rate: 40, connections: 4},
	}
	s, err := runAll(t.Context(), report.Options{Rounds: 1, Log: t.Logf}, all, 200*time.Millisecond, 1500*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, "E", s.ID)
	rows := s.Tables[0].Rows
	require.Len(t, rows, 2)
	few, slow := rows[0], rows[1]
	require.Equal(t, []any{"few", 20, "a backlog"}, few[:3])
	require.Greater(t, few[3], 50.0)
	require.LessOrEqual(t, few[3], 200.0, "which is the ceiling")
	require.Equal(t, []any{"≥ 100", 200.0, 4, 4, nil}, few[4:])
	require.Nil(t, slow[3])
	require.Nil(t, slow[5])
	require.Positive(t, slow[6])
	require.Equal(t, "≤ 4", slow[8])
}

// If events are lost, the figure is wrong.
func TestAnEventThatIsNotAcceptedIsAnError(t *testing.T) {
	slog.SetLogLoggerLevel(slog.LevelError + 1)
	tooFast := situation{name: "more than the queue holds", delay: time.Second, rate: 1_000_000}
	_, err := runAll(t.Context(), report.Options{Rounds: 1, Log: t.Logf}, []situation{tooFast}, 0, 300*time.Millisecond)
	require.ErrorContains(t, err, "queue full")
}

func TestTheDefaultBoundIsTheDocumentedOne(t *testing.T) {
	text, err := os.ReadFile("../../config.go")
	require.NoError(t, err)
	require.Regexp(t, regexp.MustCompile(`Defaults to 64\.\n\tMaxInFlight int`), string(text))
	require.Equal(t, 64, defaultInFlight)
	require.Equal(t, slow, situations[3].rate)
}
