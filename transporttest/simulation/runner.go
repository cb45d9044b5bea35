package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
)

// allSeeds says that the simulations have all of their seeds. The build tag ci sets it.
var allSeeds bool

// Run simulates with the seeds 1, 2, 3 and so on, and fails the test if promises are broken.
func Run(t *testing.T, o Options) {
	t.Helper()
	if o.Open == nil {
		o.Open = func(e Env) (*footfall.Tracker, error) { return footfall.New(e.Config) }
	}
	c := &campaign{options: &o, kinds: kinds(&o), found: make(map[string]*finding)}
	seeds := cmp.Or(o.Seeds, 300)
	if testing.Short() || !allSeeds {
		seeds = max(1, seeds/3)
	}
	for seed := range uint64(cmp.Or(*seedsFlag, seeds)) {
		c.seeds = append(c.seeds, *firstFlag+seed)
	}
	if *seedFlag != 0 {
		c.seeds = []uint64{*seedFlag}
	}
	c.total = len(c.seeds)
	t.Run("seeds", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint("worker ", i), func(t *testing.T) {
				t.Parallel()
				c.work(t)
			})
		}
	})
	c.report(t)
}

// kinds returns the allowed kinds of failures.
func kinds(o *Options) []Kind {
	all := slices.Concat(eventKinds, outageKinds, limitKinds, otherKinds)
	if o.Wire {
		all = append(all, Unsolicited)
	}
	return slices.DeleteFunc(all, func(k Kind) bool {
		only := strings.Split(*onlyFlag, ",")
		return slices.Contains(o.Without, k) || *onlyFlag != "" && !slices.Contains(only, string(k))
	})
}

// campaign is one call to Run.
type campaign struct {
	options *Options
	kinds   []Kind
	total   int

	mu     sync.Mutex
	seeds  []uint64 // not run yet
	failed int      // seeds
	found  map[string]*finding
}

// finding holds the simulations that broke a rule.
type finding struct {
	rule  string
	seeds []uint64
	text  string // of the first
}

func (c *campaign) next() (seed uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seeds) == 0 {
		return 0, false
	}
	seed = c.seeds[0]
	c.seeds = c.seeds[1:]
	return seed, true
}

func (c *campaign) work(t *testing.T) {
	for seed, ok := c.next(); ok; seed, ok = c.next() {
		s := generate(seed, c.kinds)
		for range *runsFlag {
			if r := c.simulate(t, s); len(r.problems) > 0 {
				c.add(t, r)
				break
			}
		}
	}
}

// stuck bounds a simulation in real time.
const stuck = 2 * time.Minute

// simulate ends the process if a simulation waits for something other than fake time.
func (c *campaign) simulate(t *testing.T, s script) *run {
	watchdog := time.AfterFunc(stuck, func() {
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "simulation: seed %d does not end\n%s\n", s.seed, buf[:runtime.Stack(buf, true)])
		os.Exit(2)
	})
	defer watchdog.Stop()
	return simulate(t, s, c.options)
}

// add records the problems of a simulation. It shrinks the first one for each rule.
func (c *campaign) add(t *testing.T, r *run) {
	var first []problem
	c.mu.Lock()
	c.failed++
	for _, p := range r.problems {
		f := c.found[p.rule]
		if f == nil {
			f = &finding{rule: p.rule}
			c.found[p.rule] = f
			first = append(first, p)
		}
		if !slices.Contains(f.seeds, r.seed) {
			f.seeds = append(f.seeds, r.seed)
		}
	}
	c.mu.Unlock()
	for _, p := range first {
		text := c.shrink(t, r, p).describe(p.rule)
		c.mu.Lock()
		c.found[p.rule].text = text
		c.mu.Unlock()
	}
}

// shrink returns the shortest prefix of the script that breaks the same rule, by bisection. A
// prefix counts as good only after several runs.
func (c *campaign) shrink(t *testing.T, r *run, p problem) *run {
	passes, fails := 0, len(r.steps)
	for fails-passes > 1 {
		middle := (passes + fails) / 2
		if shorter := c.retry(t, r.script.prefix(middle), p.rule); shorter != nil {
			r, fails = shorter, middle
		} else {
			passes = middle
		}
	}
	return r
}

func (c *campaign) retry(t *testing.T, s script, rule string) *run {
	for range 3 {
		if r := c.simulate(t, s); r.broke(rule) != nil {
			return r
		}
	}
	return nil
}

// broke returns the first problem of a rule, or nil.
func (r *run) broke(rule string) *problem {
	for i := range r.problems {
		if r.problems[i].rule == rule {
			return &r.problems[i]
		}
	}
	return nil
}

// describe describes the first problem of a rule.
func (r *run) describe(rule string) string {
	p := r.broke(rule)
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n", p.rule, p.text)
	fmt.Fprintf(&text, "  seed %d, the first %d steps of the script:\n", r.seed, len(r.steps))
	for _, s := range r.steps {
		fmt.Fprintf(&text, "    %12v  %v\n", s.at, &s)
	}
	fmt.Fprintf(&text, "  the last things that happened before the check at %v:\n%s", p.at, r.last(*linesFlag, p.at))
	if event := max(p.event, *eventFlag); event != none {
		fmt.Fprintf(&text, "  what happened to #%d:\n%s", event, r.of(event, *linesFlag))
	}
	fmt.Fprintf(&text, "  again: -sim.seed=%d", r.seed)
	if *onlyFlag != "" {
		fmt.Fprintf(&text, " -sim.only=%s", *onlyFlag)
	}
	return text.String()
}

// report fails the test if anything was found.
func (c *campaign) report(t *testing.T) {
	if len(c.found) == 0 {
		return
	}
	rules := slices.SortedFunc(maps.Values(c.found), func(a, b *finding) int { return len(b.seeds) - len(a.seeds) })
	var table strings.Builder
	for _, f := range rules {
		slices.Sort(f.seeds)
		fmt.Fprintf(&table, "  %-16s %5d seeds: %d\n", f.rule, len(f.seeds), f.seeds[:min(len(f.seeds), 8)])
	}
	for _, f := range rules {
		t.Errorf("%s", f.text)
	}
	t.Errorf("%d of %d simulations broke a promise:\n%s", c.failed, c.total, table.String())
}
