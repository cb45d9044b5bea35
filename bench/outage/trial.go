package outage

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// slack is extra time for unmeasured work of a child.
const slack = 20 * time.Second

// trial runs a scenario for a contestant.
func trial(ctx context.Context, s *scenario, c *contestant) (a account, err error) {
	err = perform(ctx, s, c, func(t *stage, p *process) error {
		if err := p.expect(saysTracked, s.load+s.giveUp+s.pause+slack); err != nil {
			return err
		}
		if s.heals {
			if err := t.server.heal(); err != nil {
				return err
			}
		}
		if s.flush > 0 {
			if a.alone, err = t.flush(ctx, s, p); err != nil {
				return err
			}
		}
		if a.result, err = p.finish(s.giveUp + slack); err != nil {
			return err
		}
		p.Stop()
		a.log = p.said()
		return t.settle(ctx, &a)
	})
	return a, err
}

// perform starts a contestant on a new stage and calls act when it begins to track.
func perform(ctx context.Context, s *scenario, c *contestant, act func(*stage, *process) error) error {
	t, err := newStage(c, s.mood, s.events())
	if err != nil {
		return err
	}
	defer t.close()
	p, err := start(ctx, t.dir, t.order(s))
	if err != nil {
		return err
	}
	defer p.Stop()
	return act(t, p)
}

// grace is the time for retries after Flush, longer than any SDK waits between two attempts.
const grace = 15 * time.Second

// flush calls Flush if the SDK has it, and returns how long the SDK was then left alone.
func (t *stage) flush(ctx context.Context, s *scenario, p *process) (alone time.Duration, err error) {
	flushed, err := p.flush(s.flush + s.giveUp + slack)
	if err != nil {
		return 0, err
	}
	if flushed {
		return t.arrive(ctx, min(grace, s.flush)), nil
	}
	return t.arrive(ctx, s.flush), nil
}

// stage is the environment of a trial: a server, a directory and a ledger.
type stage struct {
	who    *contestant
	server *server
	dir    string
	ledger ledger
}

func newStage(c *contestant, m mood, events int) (t *stage, err error) {
	t = &stage{who: c}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.dir, err = os.MkdirTemp("", "footfall-bench-outage-"); err != nil {
		return t, err
	}
	if t.ledger, err = newLedger(t.ledgerPath(), events); err != nil {
		return t, err
	}
	t.server, err = newServer(c, m)
	return t, err
}

func (t *stage) close() {
	if t.server != nil {
		t.server.close()
	}
	if t.ledger != nil {
		t.ledger.close()
	}
	_ = os.RemoveAll(t.dir)
}

func (t *stage) ledgerPath() string { return filepath.Join(t.dir, "ledger") }

func (t *stage) order(s *scenario) *order {
	return &order{
		Contestant: t.who.Name,
		URL:        t.server.port.url(),
		Dir:        filepath.Join(t.dir, "kept"),
		Ledger:     t.ledgerPath(),
		Events:     s.events(),
		Rate:       s.rate,
		Pause:      s.pause,
		Flush:      s.flush,
		Close:      s.close,
		GiveUp:     s.giveUp,
	}
}

// arrive waits until the server has received every accepted event, at most limit, and returns
// how long it took.
func (t *stage) arrive(ctx context.Context, limit time.Duration) time.Duration {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		var a account
		if a.take(t.ledger, t.server.read()); a.missing == 0 {
			break
		}
		<-tick.C
	}
	return time.Since(began)
}

// settle counts the events after the child has ended. Another child first delivers stored events.
func (t *stage) settle(ctx context.Context, a *account) error {
	a.contestant = t.who
	a.take(t.ledger, t.server.settled(ctx))
	if t.who.openIn == nil {
		return nil
	}
	before := a.delivered
	if err := t.restart(ctx); err != nil {
		return err
	}
	requests := a.requests // the second process has its own count
	a.take(t.ledger, t.server.settled(ctx))
	a.afterRestart, a.requests = a.delivered-before, requests
	return nil
}

// restart delivers stored events with another child.
func (t *stage) restart(ctx context.Context) error {
	if err := t.server.heal(); err != nil {
		return err
	}
	const flush, end = 30 * time.Second, 10 * time.Second
	o := t.order(&scenario{flush: flush, close: end, giveUp: end})
	p, err := start(ctx, t.dir, o)
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := p.expect(saysTracked, slack+end); err != nil {
		return err
	}
	if _, err := p.flush(flush + end + slack); err != nil {
		return err
	}
	_, err = p.finish(end + slack)
	return err
}
