package footfall_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// An outage costs a request for each step of the backoff, not for each event: 150 to 280 in ten
// minutes of 503, 39 to 55 of 401. The bounds leave room for jitter.
func TestTenMinutesOfOutageCostFewRequests(t *testing.T) {
	for name, row := range map[string]struct {
		answer answerFunc
		most   int
	}{"503": {answerStatus(503), 320}, "401": {answerRefused(401), 60}, "no answer": {answerDown, 320}} {
		for _, every := range []time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond} {
			for _, before := range []time.Duration{0, time.Minute} {
				if every < 100*time.Millisecond && (name != "503" || before == 0) {
					continue // many events, and nothing else
				}
				t.Run(fmt.Sprintf("%s, an event every %v, healthy for %v", name, every, before), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						seen := &flow{name: "seen", every: every, answer: always(answerStatus(202))}
						m := newMixture(t, []*flow{seen})
						if before > 0 {
							m.run(t, before)
							time.Sleep(time.Second)
						}
						n := m.requests()
						m.set(row.answer)
						m.run(t, time.Since(m.began)+10*time.Minute)
						assert.LessOrEqual(t, m.requests()-n, row.most)
						ended := time.Now()
						m.set(m.reply)
						for m.tracker.Stats().Queued > 0 && time.Since(ended) < 10*time.Minute {
							time.Sleep(100 * time.Millisecond)
						}
						assert.Less(t, time.Since(ended), 6*time.Minute)
						assert.NoError(t, closeWithin(m.tracker, time.Minute))
					})
				})
			}
		}
	}
}
