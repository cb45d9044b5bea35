package growth

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/post/child"
	"github.com/footfall-dev/footfall/bench/report"
	"github.com/footfall-dev/footfall/bench/settler"
)

// result is the result of a cell.
type result struct {
	Cost    float64 // ns per event for the caller; without a rate, CPU ns of all cores
	CPU     float64 // CPU ns of the whole process per event, without waiting
	Allocs  float64 // of the whole process per event
	Refused float64 // refused calls of Track, in percent
	RSS     float64 // MiB at its peak
}

const role = "caller"

func init() {
	child.Handle(role, func(c cell, p *child.Parent) error {
		r, err := c.obey()
		if err != nil {
			return err
		}
		return p.Say(r)
	})
}

func (c *cell) run(ctx context.Context) (*result, error) {
	p, err := child.Start(ctx, role, child.AnyCore, c)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	var r result
	err = p.Hear(c.For+30*time.Second, &r)
	return &r, err
}

// obey runs the child.
func (c *cell) obey() (*result, error) {
	runtime.GOMAXPROCS(c.Cores)
	tracker, err := footfall.New(c.config())
	if err != nil {
		return nil, err
	}
	defer tracker.Close(context.Background())
	props := props(c.Props)
	if err := warmUp(tracker, props); err != nil {
		return nil, err
	}
	before := child.Used()
	s, err := c.track(tracker, props)
	if err != nil {
		return nil, err
	}
	if err := tracker.Flush(context.Background()); err != nil {
		return nil, err
	}
	after := child.Used()
	return &result{
		Cost:    s.cost,
		CPU:     float64(after.CPU-before.CPU) / float64(s.events),
		Allocs:  float64(after.Mallocs-before.Mallocs) / float64(s.events),
		Refused: 100 * float64(s.refused) / float64(s.events+s.refused),
		RSS:     float64(child.PeakRSS()) / 1024,
	}, nil
}

// config returns the default Config, with a larger queue for callers in a tight loop. If another
// program occupied the consumer's core, they would fill the default queue and measure refusals.
func (c *cell) config() footfall.Config {
	cfg := footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/checkout", Transport: &settler.Settler{}}
	if c.Rate == 0 {
		cfg.MaxQueueEvents, cfg.MaxQueueBytes = 1<<18, 1<<28
	}
	return cfg
}

// sum is the result of tracking.
type sum struct {
	events, refused int
	cost            float64
}

func (c *cell) track(tracker *footfall.Tracker, props []footfall.Prop) (sum, error) {
	if c.Rate > 0 {
		return c.pace(tracker, props)
	}
	return c.race(tracker, props)
}

// warmUp allocates what is allocated once: buffers, slabs, goroutines.
func warmUp(tracker *footfall.Tracker, props []footfall.Prop) error {
	for range 1_000 {
		if err := tracker.Track(context.Background(), name, props...); err != nil {
			return err
		}
	}
	return tracker.Flush(context.Background())
}

const name = "checkout_completed"

// burst is how many events are timed together, so that reading the clock costs little.
const burst = 16

// pace tracks c.Rate events a second in bursts, as they become due.
func (c *cell) pace(tracker *footfall.Tracker, props []footfall.Prop) (s sum, err error) {
	ctx := context.Background()
	most := int(c.For.Seconds() * float64(c.Rate))
	costs := make([]float64, 0, most/burst+1)
	began := time.Now()
	for s.events < most {
		next := s.events + burst
		time.Sleep(time.Until(began.Add(time.Duration(next) * time.Second / time.Duration(c.Rate))))
		start := time.Now()
		for range burst {
			if err = tracker.Track(ctx, name, props...); err != nil {
				return s, err
			}
		}
		costs = append(costs, float64(time.Since(start))/burst)
		s.events = next
	}
	s.cost = report.Median(costs)
	return s, nil
}

// race tracks in a tight loop. The time of refused calls counts.
func (c *cell) race(tracker *footfall.Tracker, props []footfall.Prop) (s sum, err error) {
	var ended atomic.Bool
	var running sync.WaitGroup
	sums := make([]sum, c.Goroutines)
	began := time.Now()
	for i := range sums {
		running.Go(func() { sums[i] = loop(tracker, props, &ended, c.Goroutines >= c.Cores) })
	}
	time.Sleep(c.For)
	ended.Store(true)
	running.Wait()
	took := time.Since(began)
	for _, one := range sums {
		s.events += one.events
		s.refused += one.refused
	}
	s.cost = float64(took) * float64(c.Cores) / float64(s.events)
	if invalid := tracker.Stats().Invalid; invalid > 0 {
		err = fmt.Errorf("%d events were not valid", invalid)
	}
	return s, err
}

// loop yields after each burst, as handlers do, unless the consumer has its own core. Without
// it the consumer would wait for milliseconds, and the figure would measure a deep queue.
func loop(tracker *footfall.Tracker, props []footfall.Prop, ended *atomic.Bool, yield bool) (s sum) {
	ctx := context.Background()
	for !ended.Load() {
		for range burst {
			switch err := tracker.Track(ctx, name, props...); {
			case err == nil:
				s.events++
			case errors.Is(err, footfall.ErrQueueFull):
				s.refused++
			}
		}
		if yield {
			runtime.Gosched()
		}
	}
	return s
}

// keys are typical keys of props.
var keys = []string{
	"plan", "amount", "currency", "rate", "country", "quantity", "coupon", "discount", "method", "attempt",
	"locale", "tax", "category", "weight", "variant", "stock", "shipping", "distance", "device", "price",
	"experiment", "bucket", "referrer", "latency", "tenant", "seats", "region", "score", "version", "items",
}

// props returns n props: a short string, an int, three letters and a float in turn.
func props(n int) []footfall.Prop {
	all := make([]footfall.Prop, 0, n)
	for i, key := range keys[:n] {
		switch i % 4 {
		case 0:
			all = append(all, footfall.P(key, "professional"))
		case 1:
			all = append(all, footfall.P(key, 4999+i))
		case 2:
			all = append(all, footfall.P(key, "EUR"))
		case 3:
			all = append(all, footfall.P(key, 0.19))
		}
	}
	return all
}
