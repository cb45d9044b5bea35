package caller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/bench/peers"
	"github.com/footfall-dev/footfall/bench/report"
)

const (
	loopEvents = 100_000
	loopTime   = time.Second / 2
	loopQueue  = 1 << 17 // above loopEvents, so that no event is dropped for lack of room
	closeBound = 20 * time.Second
)

// limits bound one loop.
type limits struct {
	events int
	time   time.Duration
}

// RunSustained runs experiment A2: a tight loop with a consumer beside it. It takes about 20
// seconds a round.
func RunSustained(ctx context.Context, o report.Options) (report.Section, error) {
	section := report.Section{
		ID: "A2", Title: "The caller sustained",
		How: fmt.Sprintf("A tight loop of %d events or %v, whichever ends first, in one goroutine and in %d, while the SDK sends to a RoundTripper in the process that reads and answers. "+
			"The time is the loop's per event, and wall time in parallel; allocations are of the whole process in the serial loop, including the consumer. The bound of waiting events is raised to %d events if there is one. "+
			"Accepted, arrived and lost are totals of all rounds, after Close. Medians of %d rounds, the SDKs taking turns.",
			loopEvents, loopTime, runtime.GOMAXPROCS(0), loopQueue, o.Rounds),
	}
	all := append([]contestant{overSettler()}, contestants()...)
	found := make([]sustained, len(all))
	for round := range o.Rounds {
		o.Log("A2: round %d of %d", round+1, o.Rounds)
		for i, c := range all {
			if err := found[i].round(ctx, c); err != nil {
				return section, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	section.Tables = []report.Table{sustainedTable(all, found)}
	section.Notes = sustainedNotes(all, found)
	return section, nil
}

func sustainedTable(all []contestant, found []sustained) report.Table {
	table := report.Table{Columns: []string{"SDK", "serial ns", "× Footfall", "parallel ns", "target ns", "allocs", "target allocs", "refused", "accepted", "arrived", "lost"}}
	base := found[min(1, len(found)-1)].serial // like for like: an HTTP transport
	for i, c := range all {
		f := &found[i]
		ns, allocs := "–", any(nil)
		if c.name == settledName {
			ns, allocs = "≤ 300", 0
		}
		table.Rows = append(table.Rows, []any{
			c.name, report.Median(f.serial), ratio(f.serial, base), report.Median(f.parallel), ns, report.Median(f.allocs), allocs,
			f.refused, f.accepted, f.arrived, f.accepted - f.arrived,
		})
	}
	return table
}

func sustainedNotes(all []contestant, found []sustained) []string {
	notes := []string{
		"The bound exceeds the events of the loop: the table compares the cost to callers while delivery runs beside them, not the speed of delivery, which C and D measure. Callers of an SDK whose bound cannot be set wait for its delivery. A RoundTripper in the process needs no system calls. With a socket, an SDK that makes a request per event would need more of them than an SDK that batches.",
		"× Footfall is relative to the row with its HTTP transport, which makes one request per event, as the API requires, on the same cores where the others batch. In the first row the consumer costs nothing: it is the caller's own cost under load, and not comparable with the other SDKs. The target for this row was set on a machine where libhoney took 1,495 ns; it is 0.20 of that. Compare the ratio.",
	}
	for i, c := range all {
		f := &found[i]
		if lost := f.accepted - f.arrived; lost > 0 {
			notes = append(notes, fmt.Sprintf("%s lost %d of the %d events that it accepted, so its figures do not include the cost of delivering them.", c.name, lost, f.accepted))
		}
		if f.refused > 0 {
			notes = append(notes, fmt.Sprintf("%s refused %d events with an error.", c.name, f.refused))
		}
		if f.overdue > 0 {
			notes = append(notes, fmt.Sprintf("%s had not come back from Close after %v in %d loops.", c.name, closeBound, f.overdue))
		}
		if c.fixed != "" {
			notes = append(notes, c.name+" has a bound that cannot be set: "+c.fixed+".")
		}
	}
	return append(notes, "mixpanel is left out: it has no background sender, so the caller makes the request.")
}

// sustained is the result of one SDK.
type sustained struct {
	serial, parallel, allocs            []float64
	accepted, refused, arrived, overdue int
}

func (s *sustained) round(ctx context.Context, c contestant) error {
	bounds := limits{loopEvents, loopTime}
	serial, err := s.trial(ctx, c, 1, bounds)
	if err != nil {
		return err
	}
	parallel, err := s.trial(ctx, c, runtime.GOMAXPROCS(0), bounds)
	if err != nil {
		return err
	}
	s.serial = append(s.serial, serial.ns)
	s.allocs = append(s.allocs, serial.allocs)
	s.parallel = append(s.parallel, parallel.ns)
	return nil
}

type loop struct{ ns, allocs float64 }

func (s *sustained) trial(ctx context.Context, c contestant, goroutines int, bounds limits) (loop, error) {
	client, consumer, err := c.open(loopQueue, true)
	if err != nil {
		return loop{}, err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	accepted, refused := track(ctx, client, goroutines, bounds)
	took := time.Since(start)
	runtime.ReadMemStats(&after)

	closing, cancel := context.WithTimeout(ctx, closeBound)
	defer cancel()
	err = closeWithin(closing, client)
	if errors.Is(err, errOverdue) {
		s.overdue++
		err = nil
	}
	arrived, decoding := consumer.consumed()
	s.accepted, s.refused, s.arrived = s.accepted+accepted, s.refused+refused, s.arrived+arrived
	calls := float64(accepted + refused)
	return loop{float64(took) / calls, float64(after.Mallocs-before.Mallocs) / calls}, errors.Join(err, decoding)
}

// track calls Track until a bound is reached, and counts its results.
func track(ctx context.Context, client peers.Client, goroutines int, bounds limits) (accepted, refused int) {
	const step = 250 // between looks at the clock
	var yes, no atomic.Int64
	var group sync.WaitGroup
	deadline := time.Now().Add(bounds.time)
	for range goroutines {
		group.Go(func() {
			for range bounds.events / goroutines / step {
				if ctx.Err() != nil || time.Now().After(deadline) {
					return
				}
				failed := 0
				for range step {
					if client.Track(0) != nil {
						failed++
					}
				}
				yes.Add(int64(step - failed))
				no.Add(int64(failed))
			}
		})
	}
	group.Wait()
	return int(yes.Load()), int(no.Load())
}

var errOverdue = errors.New("caller: Close did not come back in time")

// closeWithin stops waiting for Close when ctx ends.
func closeWithin(ctx context.Context, client peers.Client) error {
	ended := make(chan error, 1)
	go func() { ended <- client.Close(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(closeBound + time.Second):
		return errOverdue
	}
}
