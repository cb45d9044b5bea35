//go:build ci && linux

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

const (
	killRounds  = 50
	killCallers = 4
	perRound    = 1_000_000 // numbers that are reserved for a round
)

func TestTrackDurableEventsArriveAlthoughTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Always(unreliable())
	dir := t.TempDir()
	var promised []int64
	for round := range killRounds {
		c := start(t, "-api", api.URL, "-dir", dir, "-first", strconv.Itoa(round*perRound),
			"-durable", strconv.Itoa(killCallers), "-pause", "2ms")
		most := 150 * time.Millisecond // the child may be opening the file, or be anywhere else
		if len(promised) <= round*killCallers {
			most = 2 * time.Second // the machine is slow
		}
		time.Sleep(rand.N(most))
		c.kill()
		promised = append(promised, c.durable...)
	}
	last := start(t, "-api", api.URL, "-dir", dir)
	last.flush()
	left := last.end().Spool
	assert.Zero(t, left.Events, "left in the file")
	assert.Zero(t, left.Corrupt)
	require.Greater(t, len(promised), killRounds*killCallers)
	assertArrived(t, api, promised)
	repeated := assertOneKeyAndBody(t, api)
	t.Logf("%d events acknowledged in %d rounds, %d arrived, sent again %d times",
		len(promised), killRounds, len(api.Events()), repeated)
}

// plainRates are rates of Track, a second.
var plainRates = []int{100, 2000, 10_000}

func TestAKillLosesNoTrackedEvent(t *testing.T) {
	t.Parallel()
	for _, rate := range plainRates {
		t.Run(fmt.Sprintf("%d events a second", rate), func(t *testing.T) {
			t.Parallel()
			accepted := 0
			for range plainWaves {
				accepted += killWave(t, rate)
			}
			t.Logf("%d kills: %d events accepted, none lost", plainWaves*plainTogether, accepted)
		})
	}
}

const (
	plainTogether = 3 // processes killed at one time
	plainLife     = 2500 * time.Millisecond
)

// killWave starts some processes whose API does not answer, kills them and delivers the events that
// they leave. It returns how many events Track had accepted.
func killWave(t *testing.T, rate int) (accepted int) {
	t.Helper()
	counts := make([]int, plainTogether)
	var processes sync.WaitGroup
	for i := range counts {
		dead := newDeadPort(t)
		dir := t.TempDir()
		c := start(t, "-api", dead.URL, "-dir", dir, "-rate", strconv.Itoa(rate))
		c.expect("open")
		processes.Go(func() {
			time.Sleep(plainLife/2 + rand.N(plainLife/2))
			c.kill()
			counts[i] = len(c.plain)
			missing := maps.Clone(c.plain)
			for _, n := range drained(t, dir) {
				delete(missing, n)
			}
			assert.Empty(t, missing)
			assert.NotZero(t, counts[i])
		})
	}
	processes.Wait()
	for _, n := range counts {
		accepted += n
	}
	return accepted
}
