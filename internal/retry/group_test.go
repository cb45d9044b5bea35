package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEventsOfAGroupTakeTurnsAsProbes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	later := now.Add(time.Minute)
	for name, row := range map[string]struct {
		fresh, failed string        // a letter for each event, oldest first
		wait          time.Duration // of those that failed
		due           Due
		pick          Pick
		want          string // the events that may be sent, in that order
	}{
		"the newest and the oldest of those never sent": {fresh: "abc", due: Due{now, now, now, now}, pick: Probe, want: "cab"},
		"those never sent and those that failed":        {fresh: "ab", failed: "xy", due: Due{now, now, now, now}, pick: Probe, want: "bxay"},
		"before the next probe only those never sent":   {fresh: "ab", failed: "x", due: Due{later, now, now, now}, pick: Probe, want: "ba"},
		"early only those never sent":                   {fresh: "ab", failed: "x", due: Due{now, now, now, now}, pick: Early, want: "ba"},
		"while many fail only the newest is early":      {fresh: "abc", due: Due{later, later, now, now}, pick: Probe, want: "cba"},
		"none is early that is older than one sent":     {fresh: "ab", due: Due{later, later, now, now.Add(1)}, pick: Probe},
		"none before its own wait":                      {failed: "x", wait: time.Second, due: Due{now, now, now, now}, pick: Probe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHeld[string](func() {})
			t.Cleanup(h.Stop)
			in := Group{level: kindLevel}
			for _, c := range row.fresh {
				e := event(string(c), 0)
				e.Fresh = true
				h.Add(e, in, row.due, now)
			}
			for _, c := range row.failed {
				h.Add(event(string(c), row.wait), in, row.due, now)
			}
			assert.Equal(t, min(1, len(row.want)), h.Due(now))
			sent := ""
			for e, ok := h.Take(row.pick, now); ok; e, ok = h.Take(row.pick, now) {
				sent += e.Value
			}
			assert.Equal(t, row.want, sent)
		})
	}
}
