//go:build linux

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
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
		time.Sleep(rand.N(150 * time.Millisecond)) // the child may be opening the file, or be anywhere else
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
var plainRates = []int{50, 500, 2000}

func TestAKillLosesOnlyTheTrackedEventsOfTheLastInterval(t *testing.T) {
	t.Parallel()
	for _, rate := range plainRates {
		t.Run(fmt.Sprintf("%d events a second", rate), func(t *testing.T) {
			t.Parallel()
			var losses []loss
			for range plainWaves {
				losses = append(losses, killWave(t, rate)...)
			}
			summary(t, losses)
			for _, l := range losses {
				assert.Less(t, l.oldest, flushInterval+commitSlack, "an event of Track waited too long for the disk")
			}
		})
	}
}

const (
	plainTogether = 3 // processes killed at one time
	flushInterval = spool.FlushInterval
	commitSlack   = 1 * time.Second // for a commit on a busy machine
	plainLife     = 2500 * time.Millisecond
)

// loss is the number of accepted events that a kill cost, and the time between the oldest of
// them and the kill.
type loss struct {
	events   int
	oldest   time.Duration
	accepted int
}

// killWave starts some processes whose API does not answer, kills them and delivers the
// events of their files.
func killWave(t *testing.T, rate int) []loss {
	t.Helper()
	losses := make([]loss, plainTogether)
	var processes sync.WaitGroup
	for i := range losses {
		dead := newDeadPort(t)
		dir := t.TempDir()
		c := start(t, "-api", dead.URL, "-dir", dir, "-rate", strconv.Itoa(rate))
		c.expect("open")
		processes.Go(func() {
			time.Sleep(plainLife/2 + rand.N(plainLife/2))
			killed := time.Now()
			c.kill()
			losses[i] = lost(t, dir, c.plain, killed)
		})
	}
	processes.Wait()
	return losses
}

// lost empties the directory and returns the accepted events that were not in it.
func lost(t *testing.T, dir string, accepted map[int64]time.Time, killed time.Time) loss {
	l := loss{accepted: len(accepted)}
	missing := maps.Clone(accepted)
	for _, n := range drained(t, dir) {
		delete(missing, n)
	}
	l.events = len(missing)
	for _, at := range missing {
		l.oldest = max(l.oldest, killed.Sub(at))
	}
	return l
}

func summary(t *testing.T, losses []loss) {
	t.Helper()
	most := slices.MaxFunc(losses, func(a, b loss) int { return a.events - b.events })
	sum, oldest := 0, time.Duration(0)
	for _, l := range losses {
		sum += l.events
		oldest = max(oldest, l.oldest)
		assert.Positive(t, l.accepted)
	}
	t.Logf("%d kills: lost at most %d events, %.1f in the mean; the oldest was %v old",
		len(losses), most.events, float64(sum)/float64(len(losses)), oldest.Round(time.Millisecond))
}
