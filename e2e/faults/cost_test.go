//go:build ci && linux

package faults

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	costIntervals = flag.String("cost.intervals", "0s", "values of Config.FlushInterval to measure, separated by commas; 0s is the default")
	costRates     = flag.String("cost.rates", costRatesByDefault, "calls of Track a second to measure, separated by commas")
	costKills     = flag.Int("cost.kills", costKillsByDefault, "kills for each row")
	costSpool     = flag.Bool("cost.spool", false, "with a spool")
)

const (
	farAway = 25 * time.Millisecond
	fast    = 2000 // calls of Track a second above which only one process runs at a time
)

// setting is a row of the table.
type setting struct {
	interval, latency time.Duration
	rate, inFlight    int
	spool             bool
}

const costFormat = "%-8v %7v %7v %11v %5v  %-14v %-14v %-14v %7v %6v %5v"

// TestAKillCostsFewEvents prints how many events a kill costs, and how much processor time a
// short interval costs. No request of a "waiting" event has arrived at the API; an event "in
// flight" has arrived and is not answered.
func TestAKillCostsFewEvents(t *testing.T) {
	t.Logf(costFormat, "interval", "rate/s", "latency", "MaxInFlight", "kills", "waiting", "in flight", "together", "wakes/s", "CPU", "conns")
	for text := range strings.SplitSeq(*costIntervals, ",") {
		interval, err := time.ParseDuration(text)
		require.NoError(t, err)
		for text := range strings.SplitSeq(*costRates, ",") {
			rate, err := strconv.Atoi(text)
			require.NoError(t, err)
			for _, s := range settings(interval, rate) {
				costs := killSome(t, s)
				logCosts(t, s, costs)
				assertCheap(t, s, costs)
			}
		}
	}
}

func settings(interval time.Duration, rate int) []setting {
	near := setting{interval: interval, rate: rate, spool: *costSpool}
	far := near
	far.latency = farAway
	if rate <= fast {
		return []setting{near, far}
	}
	wide := far
	wide.inFlight = 512 // the default of 64 carries 2,560 events a second so far
	return []setting{near, far, wide}
}

// killSome kills a few processes at a time, or one at a time if the rate is fast.
func killSome(t *testing.T, s setting) []killCost {
	t.Helper()
	costs, errs := make([]killCost, *costKills), make([]error, *costKills)
	atATime := 3
	if s.rate > fast {
		atATime = 1
	}
	for from := 0; from < len(costs); from += atATime {
		var killing sync.WaitGroup
		for i := from; i < min(from+atATime, len(costs)); i++ {
			c := startCaller(t, s)
			killing.Go(func() { costs[i], errs[i] = c.live() })
		}
		killing.Wait()
	}
	require.NoError(t, errors.Join(errs...))
	_, most := together(costs, func(c *killCost) int { return c.accepted })
	require.Positive(t, most, "nothing was tracked")
	return costs
}

// together sums a number over all kills, and finds the largest.
func together(costs []killCost, number func(*killCost) int) (mean float64, most int) {
	for i := range costs {
		n := number(&costs[i])
		mean += float64(n) / float64(len(costs))
		most = max(most, n)
	}
	return mean, most
}

func waiting(c *killCost) int { return c.waiting }

func logCosts(t *testing.T, s setting, costs []killCost) {
	t.Helper()
	meanAndMost := func(number func(*killCost) int) string {
		mean, most := together(costs, number)
		return fmt.Sprintf("%.1f, %d", mean, most)
	}
	cpu, wakes := 0.0, 0.0
	for _, c := range costs {
		cpu += c.cpu / float64(len(costs))
		wakes += c.wakes / float64(len(costs))
	}
	_, conns := together(costs, func(c *killCost) int { return c.conns })
	t.Logf(costFormat, s.interval, s.rate, s.latency, s.inFlight, len(costs),
		meanAndMost(waiting), meanAndMost(func(c *killCost) int { return c.inFlight }),
		meanAndMost(func(c *killCost) int { return c.waiting + c.inFlight }),
		fmt.Sprintf("%.0f", wakes), fmt.Sprintf("%.2f%%", 100*cpu), conns)
}

// assertCheap leaves room for a machine that is busy with other tests.
func assertCheap(t *testing.T, s setting, costs []killCost) {
	t.Helper()
	if s.rate > fast || s.interval > 0 || s.spool {
		return // only printed, for comparison
	}
	mean, _ := together(costs, waiting)
	assert.LessOrEqual(t, mean, costBound, "%d events a second at %v", s.rate, s.latency)
}
