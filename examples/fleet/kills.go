package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// victim is a process that was killed.
type victim struct {
	name  string
	role  string                      // of the leader; otherwise empty
	again func(context.Context) error // restarts it
}

// disturb kills the leader of the stream, a shop and a relay, one after each quarter of the time. It
// returns nil if ctx ends.
func (f *fleet) disturb(ctx context.Context) error {
	for i, kill := range []func(context.Context) (victim, error){f.killLeader, f.killShop, f.killRelay} {
		sleepUntil(ctx, f.began.Add(time.Duration(i+1)*f.opts.open/4))
		if ctx.Err() != nil {
			return nil
		}
		v, err := kill(ctx)
		if err == nil {
			err = f.recover(ctx, v)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recoverTimeout bounds the time until delivery resumes after a kill.
const recoverTimeout = time.Minute

// recover reports when delivery resumes after a kill, and restarts the process.
func (f *fleet) recover(ctx context.Context, v victim) error {
	killed, last := time.Now(), f.ledger.last()
	underWay := f.ledger.underWay(last)
	f.say("killed %s%s", v.name, v.role)
	waiting, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	if err := f.ledger.awaitNewer(waiting, last); err != nil {
		return fmt.Errorf("no event arrived for %s after %s was killed", recoverTimeout, v.name)
	}
	goesOn := time.Since(killed)
	if err := f.ledger.awaitUpTo(waiting, last); err != nil {
		return fmt.Errorf("%d events are missing %s after %s was killed", f.ledger.underWay(last), recoverTimeout, v.name)
	}
	f.say("delivery goes on after %.1f s; the %d events under way had arrived after %.1f s", goesOn.Seconds(), underWay, time.Since(killed).Seconds())
	if err := v.again(ctx); err != nil {
		return err
	}
	f.say("started %s again", v.name)
	return nil
}

func (f *fleet) killLeader(ctx context.Context) (victim, error) {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	name, err := leader(ctx, f.url)
	if err != nil {
		return victim{}, fmt.Errorf("the leader of the stream: %w", err)
	}
	i := slices.IndexFunc(f.nats, func(p *process) bool { return p.name == name })
	f.nats[i].kill()
	return victim{name, ", the leader of the stream", func(ctx context.Context) error { return f.startNATS(ctx, i) }}, nil
}

func (f *fleet) killShop(context.Context) (victim, error) {
	i := rand.IntN(len(f.shops))
	s := f.shops[i]
	s.kill()
	f.mu.Lock()
	f.shops[i] = nil // as a load balancer does
	f.mu.Unlock()
	f.ledger.end(s.row, true)
	return victim{s.name, "", func(ctx context.Context) error { return f.startShop(ctx, i) }}, nil
}

func (f *fleet) killRelay(context.Context) (victim, error) {
	i := rand.IntN(len(f.relays))
	f.relays[i].kill()
	return victim{f.relays[i].name, "", func(ctx context.Context) error { return f.startRelay(ctx, i) }}, nil
}
