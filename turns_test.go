package footfall_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

// failsTimes fails an event this many times before it is accepted.
func failsTimes(times int) func(int) answerFunc {
	var mu sync.Mutex
	failed := make(map[int]int)
	return func(n int) answerFunc {
		return func(r *http.Request, body string) (*http.Response, error) {
			mu.Lock()
			failed[n]++
			fails := failed[n] <= times
			mu.Unlock()
			if fails {
				return answerStatus(503)(r, body)
			}
			return answerStatus(202)(r, body)
		}
	}
}

// Senders that always find events that were never sent also send those that have failed.
func TestEventsThatHaveFailedGetTheirTurnsInABacklog(t *testing.T) {
	for _, row := range []struct {
		times int           // attempts that fail
		most  time.Duration // until the event is delivered
	}{{1, 2 * time.Second}, {2, 5 * time.Second}, {4, 20 * time.Second}, {6, 80 * time.Second}} {
		for _, senders := range []int{1, 4} {
			t.Run(fmt.Sprintf("%d failures, MaxInFlight %d", row.times, senders), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					backlog := &flow{name: "seen", begins: time.Nanosecond, most: 30_000 * senders}
					late := &flow{name: "seen", most: 3, answer: failsTimes(row.times)}
					m := newMixture(t, []*flow{late, backlog}, func(c *footfall.Config) { c.MaxInFlight, c.MaxQueueEvents, c.MaxQueueBytes = senders, 200_000, 1<<28 })
					m.run(t, 2*time.Nanosecond)
					time.Sleep(2 * time.Minute) // the backlog needs 150 s
					assert.Equal(t, 3, m.read(late).delivered)
					assert.LessOrEqual(t, m.read(late).longest, row.most)
					assert.Less(t, m.read(backlog).delivered, backlog.most)
					t.Log(m.read(late).longest)
					assert.Error(t, closeWithin(m.tracker, time.Millisecond))
				})
			})
		}
	}
}

// The events of a name wait while the API does not accept them. When it does again, they do not wait
// for a backlog of others.
func TestEventsOfANameThatIsAcceptedAgainGetTheirTurnsInABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		held := &flow{name: "held", every: 100 * time.Millisecond, most: 180, answer: always(func(r *http.Request, body string) (*http.Response, error) {
			if time.Since(began) < 20*time.Second {
				return answerStatus(503)(r, body)
			}
			return answerStatus(202)(r, body)
		})}
		first := &flow{name: "seen", every: 100 * time.Millisecond, most: 180}
		backlog := &flow{name: "seen", begins: 19 * time.Second, most: 30_000}
		m := newMixture(t, []*flow{held, first, backlog}, func(c *footfall.Config) { c.MaxInFlight = 1 })
		m.run(t, 19*time.Second+time.Nanosecond)
		time.Sleep(40 * time.Second)
		assert.Equal(t, 180, m.read(held).delivered)
		assert.Less(t, m.read(backlog).delivered, backlog.most)
		assert.Error(t, closeWithin(m.tracker, time.Millisecond))
	})
}
