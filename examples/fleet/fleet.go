package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// fleet has all processes and the ledger.
type fleet struct {
	opts    options
	out     io.Writer
	ledger  *ledger
	service *service
	nats    []*process
	relays  []*process
	started []*process // all, including killed ones
	confs   []string   // of nats
	url     string     // of nats
	began   time.Time  // when the first customer came

	mu    sync.RWMutex
	shops []*shop // nil while one is killed
}

// shop is a running shop.
type shop struct {
	*process
	row *row
}

func newFleet(opts options, out io.Writer) (f *fleet, err error) {
	f = &fleet{opts: opts, out: out, ledger: &ledger{newest: -1}, shops: make([]*shop, 5)}
	f.service, err = openService(context.Background(), opts.dir, f.ledger.arrive)
	return f, err
}

// start starts all processes. The first relay creates the stream.
func (f *fleet) start(ctx context.Context) (err error) {
	fmt.Fprintln(f.out, "starting three NATS servers, two relays and five shops")
	names := []string{"nats-1", "nats-2", "nats-3"}
	if f.confs, f.url, err = writeNATSConfigs(f.opts.dir, names); err != nil {
		return err
	}
	f.nats, f.relays = make([]*process, len(names)), make([]*process, 2)
	for i := range f.nats {
		if err := f.startNATS(ctx, i); err != nil {
			return err
		}
	}
	for i := range f.relays {
		if err := f.startRelay(ctx, i); err != nil {
			return err
		}
	}
	for i := range f.shops {
		if err := f.startShop(ctx, i); err != nil {
			return err
		}
	}
	fmt.Fprintf(f.out, "The dashboard is at  %s\n%d customers a second for %s:\n\n", f.service.dashboard(), f.opts.traffic, f.opts.open)
	return nil
}

func (f *fleet) startNATS(ctx context.Context, i int) (err error) {
	f.nats[i], err = f.startOne(ctx, fmt.Sprintf("nats-%d", i+1), nil, ignore, "nats-server", f.confs[i])
	return err
}

func (f *fleet) startRelay(ctx context.Context, i int) (err error) {
	env := []string{"FOOTFALL_BASE_URL=" + f.service.url, "FOOTFALL_API_KEY=" + f.service.key}
	f.relays[i], err = f.startOne(ctx, fmt.Sprintf("relay-%d", i+1), env, ignore, "relay")
	return err
}

func (f *fleet) startShop(ctx context.Context, i int) error {
	s := &shop{row: f.ledger.newRow(fmt.Sprintf("shop-%d", i+1))}
	stored := func(line string) {
		f.ledger.update(numberIn(line, "stored "), func(e *event) { e.stored = true })
	}
	var err error
	if s.process, err = f.startOne(ctx, s.row.name, []string{"FOOTFALL_SITE_ID=" + f.service.site.ID}, stored, "shop"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shops[i] = s
	return nil
}

func ignore(string) {}

func (f *fleet) startOne(ctx context.Context, name string, env []string, line func(string), args ...string) (*process, error) {
	p, err := startProcess(ctx, f.opts.dir, name, append(env, natsURL+"="+f.url), line, args...)
	if err != nil {
		return nil, err
	}
	f.started = append(f.started, p)
	go func() {
		if <-p.ended; p.err != nil && !p.killed.Load() {
			f.say("%v", p.failure())
		}
	}()
	return p, nil
}

// serve lets customers in until the time is over and the kills are done, or ctx ends.
func (f *fleet) serve(ctx context.Context) error {
	f.began = time.Now()
	open, stop := context.WithCancel(ctx)
	defer stop()
	var customers sync.WaitGroup
	customers.Go(func() { f.visits(open) })
	err := f.disturb(ctx)
	sleepUntil(ctx, f.began.Add(f.opts.open))
	stop()
	customers.Wait()
	return err
}

// settleTimeout bounds the wait for events that are under way.
const settleTimeout = time.Minute

// report stops the shops, waits for the events and prints the account.
func (f *fleet) report(ctx context.Context) error {
	f.say("no more customers")
	stopped := f.stopShops()
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if f.ledger.awaitUpTo(ctx, f.ledger.last()) == nil {
		f.say("every event that was Stored has arrived")
	} // otherwise the account has the missing ones
	stopped = errors.Join(stopped, stopAll(f.relays), stopAll(f.nats))
	if err := f.service.count(context.WithoutCancel(ctx), f.ledger.count); err != nil {
		return errors.Join(err, stopped)
	}
	return errors.Join(f.ledger.print(f.out), stopped)
}

func (f *fleet) stopShops() error {
	var running []*process
	for _, s := range f.shops {
		if s != nil {
			running = append(running, s.process)
		}
	}
	err := stopAll(running)
	for _, s := range f.shops {
		if s != nil {
			f.ledger.end(s.row, false)
		}
	}
	return err
}

// stopAll stops processes at the same time.
func stopAll(processes []*process) error {
	errs := make([]error, len(processes))
	var stopping sync.WaitGroup
	for i, p := range processes {
		stopping.Go(func() { errs[i] = p.stop() })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

// close kills the processes that still run, and stops the collector.
func (f *fleet) close() error {
	for _, p := range f.started {
		p.kill()
	}
	return f.service.close()
}

// say prints a line with the seconds since the first customer.
func (f *fleet) say(format string, args ...any) {
	fmt.Fprintf(f.out, "%6.1f s  %s\n", time.Since(f.began).Seconds(), fmt.Sprintf(format, args...))
}

// sleepUntil returns early when ctx ends.
func sleepUntil(ctx context.Context, t time.Time) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
