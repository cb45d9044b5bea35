// Package caller measures the cost of tracking an event for the calling goroutine.
package caller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/footfall-dev/footfall/bench/peers"
	"github.com/footfall-dev/footfall/bench/report"
)

const (
	burst        = 64 // below every SDK's batch and channel, so that no other goroutine has to run
	burstsWarm   = 10
	burstsTimed  = 30
	burstsAllocs = 5
)

// RunAlone runs experiment A1: bursts of events while nothing else runs.
func RunAlone(ctx context.Context, o report.Options) (report.Section, error) {
	section := report.Section{
		ID: "A1", Title: "The caller alone",
		How: fmt.Sprintf("Bursts of %d events, four props each, on one core (GOMAXPROCS 1), so that only the caller's goroutine runs; the garbage collector runs only between bursts, "+
			"followed by an untimed burst to fill caches and pools. Before each burst the SDK is flushed if possible, and the process is idle for some milliseconds. Requests go to a RoundTripper in the process. "+
			"Medians of %d bursts in each of %d rounds, the SDKs taking turns. Allocations are measured in %d further bursts.", burst, burstsTimed, o.Rounds, burstsAllocs),
	}
	all := contestants()
	found := make([]costs, len(all))
	for round := range o.Rounds {
		o.Log("A1: round %d of %d", round+1, o.Rounds)
		for i, c := range all {
			if err := alone(ctx, c, &found[i]); err != nil {
				return section, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	table := report.Table{Columns: []string{"SDK", "ns per event", "target", "× Footfall", "allocs per event", "target allocs"}}
	for i, c := range all {
		ns, allocs := "–", any(nil)
		if c.name == footfallName {
			ns, allocs = "≤ 200", 0
		}
		table.Rows = append(table.Rows, []any{c.name, report.Median(found[i].ns), ns, ratio(found[i].ns, found[0].ns), report.Median(found[i].allocs), allocs})
		section.Notes = append(section.Notes, c.name+": "+c.setting+".")
	}
	section.Tables = []report.Table{table}
	section.Notes = append(section.Notes, "The target was set on a machine where segment took 469 ns; it is 0.43 of that. Compare the ratio.", "mixpanel is left out: it has no background sender, so the caller makes the request.")
	return section, nil
}

// costs are per event.
type costs struct{ ns, allocs []float64 }

func ratio(of, to []float64) any {
	if base := report.Median(to); base > 0 {
		return report.Median(of) / base
	}
	return nil
}

func alone(ctx context.Context, c contestant, into *costs) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	client, _, err := c.open(0, false)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	err = bursts(ctx, client, into)
	closing, cancel := context.WithTimeout(ctx, closeBound)
	defer cancel()
	return errors.Join(err, closeWithin(closing, client))
}

func bursts(ctx context.Context, client peers.Client, into *costs) error {
	for n := range burstsWarm + burstsTimed {
		ns, err := warmAndTimed(ctx, client)
		if err != nil {
			return err
		}
		if n >= burstsWarm {
			into.ns = append(into.ns, ns)
		}
	}
	for range burstsAllocs {
		if err := settle(ctx, client); err != nil {
			return err
		}
		allocs, err := allocated(client)
		if err != nil {
			return err
		}
		into.allocs = append(into.allocs, allocs)
	}
	return nil
}

// warmAndTimed collects garbage, so that every SDK starts with the same heap. It then makes one
// burst to refill pools, and times the next.
func warmAndTimed(ctx context.Context, client peers.Client) (ns float64, err error) {
	runtime.GC()
	for range 2 {
		if err := settle(ctx, client); err != nil {
			return 0, err
		}
		if ns, err = timed(client); err != nil {
			return 0, err
		}
	}
	return ns, nil
}

func timed(client peers.Client) (float64, error) {
	start := time.Now()
	err := trackBurst(client)
	return float64(time.Since(start)) / burst, err
}

func trackBurst(client peers.Client) (failed error) {
	for range burst {
		if err := client.Track(0); err != nil {
			failed = err
		}
	}
	return failed
}

// allocated stops the world before and after, and no other goroutine runs in between.
func allocated(client peers.Client) (float64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := trackBurst(client)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / burst, err
}

// settle returns when the SDK has sent all that it can and is idle.
func settle(ctx context.Context, client peers.Client) error {
	flushing, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := client.Flush(flushing); err != nil && !errors.Is(err, peers.ErrNoFlush) {
		return fmt.Errorf("flush: %w", err)
	}
	return Idle(ctx)
}
