package jobs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/jobs"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Each list of parts is another task or another event.
func TestEventIDsOfOtherPartsDifferAndAreValid(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	of := make(map[string][]string)
	for _, parts := range [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", "b"}, {"ab"}, {"a b"}, {`a" "b`}, {"a:b"}, {"b", "a"}, {"a", "b", ""},
		{"é"}, {"e\u0301"}, {"\xff"}, {"\xfe"}, {`\xff`}, {"\u00ff"}, {"\ufffd"}, {"\n"}, {`\n`}, {" a"}, {"a "}, {"日本"},
		{strings.Repeat("x", 1000)}, {strings.Repeat("x", 1001)},
	} {
		id := jobs.EventID(parts...)
		assert.NotContains(t, of, id, "%q", parts)
		of[id] = parts
		require.NoError(t, tracker.TrackEvent(t.Context(), footfall.Event{Name: "order_paid", ID: id}), "%q", parts)
	}
}

// An ID that changed with a version of the program would count events of jobs that run again twice.
func TestEventIDIsTheSameForEver(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "5b296848d28a7f1a803583e5948ef8f8fa4a823194a79fcf037ef5b0c92b5849", jobs.EventID("river:7", "order_paid"))
}
