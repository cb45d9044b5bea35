// Package outage runs experiment G: what happens to events if the server refuses connections,
// hangs, limits the rate or fails, if the application closes meanwhile, and if its process is
// killed.
package outage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/bench/report"
)

// sideBySide is the number of concurrent children: 2,000 events a second are little work.
const sideBySide = 5

// Run runs all scenarios for all contestants, once, because the result is a count and not a
// speed. It takes five to seven minutes.
func Run(ctx context.Context, o report.Options) (report.Section, error) {
	b := bench{contestants: contestants(), scenarios: scenarios, kills: 5, log: o.Log}
	return b.run(ctx)
}

// bench is one run of the experiment.
type bench struct {
	contestants []contestant
	scenarios   []scenario
	kills       int // of each contestant
	log         func(format string, args ...any)
}

func (b *bench) run(ctx context.Context) (report.Section, error) {
	section := report.Section{
		ID:    "G",
		Title: "Outage, kill, refusals",
		How:   how,
	}
	for i := range b.scenarios {
		if err := b.play(ctx, &b.scenarios[i], &section); err != nil {
			return section, err
		}
	}
	if b.kills > 0 {
		return section, b.killAll(ctx, &section)
	}
	return section, nil
}

const how = "Each SDK runs in a separate process, with its defaults, and tracks numbered events in ticks of 5 ms; " +
	"its own server, in another process, counts how often it accepted each number. " +
	"Lost events were accepted by the SDK but never by the server; the error of Close or the SDK's documented callback reported their number, or none. " +
	"Goroutines are the increase since the SDK was opened; RSS is VmHWM of the process, whose binary contains all SDKs. " +
	"Before Close, an SDK without Flush is left alone for as long as Flush might take, others for up to 15 s after its Flush, or until everything has arrived. " +
	"Each trial runs once, because it counts events and not speed, five at a time. " +
	"Requests are counted at the server, without refused connections."

// play runs a scenario and adds its table.
func (b *bench) play(ctx context.Context, s *scenario, section *report.Section) error {
	accounts, err := each(b, func(c *contestant) (account, error) { return trial(ctx, s, c) })
	if err != nil {
		return fmt.Errorf("outage: %s: %w", s.id, err)
	}
	section.Tables = append(section.Tables, s.table(accounts))
	section.Notes = append(section.Notes, s.brokenPromises(accounts)...)
	section.Notes = append(section.Notes, s.notes(accounts)...)
	b.logf("outage: %s: done", s.id)
	return nil
}

func (b *bench) killAll(ctx context.Context, section *report.Section) error {
	at := moments(b.kills)
	deaths, err := each(b, func(c *contestant) (death, error) { return killTrials(ctx, c, at) })
	if err != nil {
		return fmt.Errorf("outage: kill: %w", err)
	}
	section.Tables = append(section.Tables, killTable(deaths, b.kills))
	b.logf("outage: kill: done")
	return nil
}

func (b *bench) logf(format string, args ...any) {
	if b.log != nil {
		b.log(format, args...)
	}
}

// each calls do for every contestant, some concurrently. It returns the results in the
// contestants' order, and the first error in that order.
func each[T any](b *bench, do func(*contestant) (T, error)) ([]T, error) {
	results := make([]T, len(b.contestants))
	errs := make([]error, len(b.contestants))
	free := make(chan struct{}, sideBySide)
	var running sync.WaitGroup
	for i := range b.contestants {
		running.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			began := time.Now()
			results[i], errs[i] = do(&b.contestants[i])
			b.logf("outage: %s after %v", b.contestants[i].Name, time.Since(began).Round(time.Millisecond))
		})
	}
	running.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.contestants[i].Name, err)
		}
	}
	return results, nil
}
