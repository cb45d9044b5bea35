package outage

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// slack is what a child may take for what is not measured.
const slack = 20 * time.Second

// trial puts a contestant through a scenario.
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

// perform starts a contestant on a stage of its own and, when it begins to track, calls act.
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

// grace is what an SDK has after its Flush, for what it tries again by itself: longer than
// any of them waits between two looks at what it has.
const grace = 15 * time.Second

// flush has the SDK flush what it has, if it can, and returns how long it was left alone
// with what it had yet.
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

// stage is where a trial takes place: a server, a directory and a ledger.
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

// arrive waits until the server has accepted everything that was taken, and no longer
// than limit. It returns how long that was.
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

// settle takes the account when the child is gone. What it kept on disk is delivered by
// another one first.
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
	requests := a.requests // the restart's are another process's
	a.take(t.ledger, t.server.settled(ctx))
	a.afterRestart, a.requests = a.delivered-before, requests
	return nil
}

// restart lets a child deliver what another one has left on disk.
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
