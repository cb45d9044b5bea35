package footfall_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

// Events that get no answer keep the senders busy. The others wait a second for each of them, divided
// by the senders, and AttemptTimeout, because further attempts get all their time.
func TestEventsThatHangDelayTheOthersLittle(t *testing.T) {
	for _, row := range []struct{ senders, hang int }{{1, 1}, {1, 10}, {2, 10}, {2, 100}, {8, 64}, {64, 640}} {
		for _, name := range []string{"seen", "stuck"} {
			t.Run(fmt.Sprintf("%d of %s with MaxInFlight %d", row.hang, name, row.senders), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					good := &flow{name: "seen", every: 100 * time.Millisecond}
					hang := &flow{name: name, begins: 10 * time.Second, most: row.hang, answer: always(answerHang)}
					m := newMixture(t, []*flow{good, hang}, func(c *footfall.Config) { c.MaxInFlight = row.senders })
					m.run(t, 3*time.Minute)
					time.Sleep(20 * time.Second)
					got := m.read(good)
					assert.Equal(t, got.tracked, got.delivered)
					most := time.Duration(row.hang) * time.Second / time.Duration(row.senders)
					assert.LessOrEqual(t, got.longest, most*3/2+5*time.Second+aTurn)
					assert.Error(t, closeWithin(m.tracker, time.Millisecond))
				})
			})
		}
	}
}

// An API that always needs longer than an attempt may keep a sender from others gets every event.
func TestASlowAPIGetsEveryEventSoon(t *testing.T) {
	for _, latency := range []time.Duration{900 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 4500 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "seen", most: 1000}
				m := newMixture(t, []*flow{good}, func(c *footfall.Config) { c.MaxInFlight = 16 })
				m.latency = latency
				m.run(t, time.Second)
				began := time.Now()
				assert.NoError(t, closeWithin(m.tracker, time.Hour))
				assert.Less(t, time.Since(began), (latency+time.Second)*1000/16+20*time.Second)
				assert.Less(t, m.requests(), 2100, "each event twice: once before it is known how slow the API is")
			})
		})
	}
}

func TestCloseDeliversEventsBehindOthersThatHang(t *testing.T) {
	for _, row := range []struct{ senders, hang int }{{64, 128}, {16, 64}, {2, 12}} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprint(row.hang, " hang with MaxInFlight ", row.senders, ", accepted before: ", before), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var flows []*flow
					if before {
						flows = append(flows, &flow{name: "before", most: 1})
					}
					begins := 5 * time.Second
					hang := &flow{name: "seen", begins: begins, most: row.hang, answer: always(answerHang)}
					good := &flow{name: "seen", begins: begins + time.Nanosecond, most: 500}
					m := newMixture(t, append(flows, hang, good), func(c *footfall.Config) { c.MaxInFlight = row.senders })
					m.run(t, begins+2*time.Nanosecond)
					assert.ErrorContains(t, closeWithin(m.tracker, 10*time.Second), "footfall: ")
					got := m.read(good)
					assert.Equal(t, 500, got.delivered)
				})
			})
		}
	}
}
