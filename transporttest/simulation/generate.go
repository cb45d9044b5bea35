package simulation

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/footfall-dev/footfall"
)

// generator generates a script from random numbers.
type generator struct {
	*rand.Rand
	script
	mood    mood
	now     time.Duration
	next    int // number of the next event
	forever int // events that are never accepted
	outages []Kind
	fates   []Kind
	mix     *rand.Rand // of the kinds of events
}

// mood holds the common properties of a script's steps.
type mood struct {
	pause  time.Duration // usual time between two steps
	burst  int           // most events of a step
	budget int           // most events of the script
	bad    float64       // share of events with one of the script's kinds
	first  bool          // the first event has a kind
}

// generate returns the script of a seed, with failures of the allowed kinds only.
func generate(seed uint64, allowed []Kind) script {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), script: script{seed: seed}}
	g.choose(allowed)
	g.configure()
	g.mix = rand.New(rand.NewPCG(seed, 0x717e5))
	g.divide()
	if g.special(allowed) {
		return g.script
	}
	g.mood = mood{
		pause:  pick(g.Rand, 50*time.Millisecond, 2*time.Second, 20*time.Second, 2*time.Minute),
		burst:  pick(g.Rand, 1, 3, 8, 8, 40),
		budget: 20 + g.IntN(281),
		bad:    pick(g.Rand, 0.02, 0.1, 0.1, 0.5, 0.95, 0.99),
		first:  g.IntN(2) == 0,
	}
	if g.IntN(8) == 0 {
		g.single()
	}
	for steps := 3 + g.IntN(38); len(g.steps) < steps && g.next < g.mood.budget && g.requests() < 10_000; {
		g.step()
	}
	g.closeAtOnce = g.has(EarlyClose)
	g.closing = g.atMost(pick(g.Rand, 0, 50*time.Millisecond, time.Second, 10*time.Second, 10*time.Second, 2*time.Minute, 10*time.Minute))
	if g.closing >= time.Second {
		g.closing += 13 * time.Millisecond // so that it does not coincide with a Retry-After
	}
	return g.script
}

// divide chooses the kinds of events, and which of them fail.
func (g *generator) divide() {
	g.names, g.sites = pick(g.mix, 1, 1, 2, 5), pick(g.mix, 1, 1, 3)
	g.apart = pick(g.mix, anyKind, anyKind, oneKind, oneSite)
	switch {
	case g.names*g.sites == 1:
		g.apart = anyKind
	case g.sites == 1 && g.apart == oneSite:
		g.apart = oneKind
	}
}

// special generates one script in eight in another way, if the kinds of failures that it needs are allowed.
func (g *generator) special(allowed []Kind) bool {
	switch g.mix.IntN(16) {
	case 0:
		return g.floods(allowed)
	case 1:
		if slices.Contains(allowed, Quota) {
			g.quotas(allowed)
			return true
		}
	case 2:
		if slices.Contains(allowed, Away) {
			g.absences()
			return true
		}
	}
	return false
}

// floods generates one kind of events that the API accepts, about one a second, and hundreds of all
// other kinds that fail between two of them, perhaps from the beginning.
func (g *generator) floods(allowed []Kind) bool {
	lasting := slices.DeleteFunc([]Kind{Poison, SlowFails, Limited, Forbidden, Resets}, func(k Kind) bool { return !slices.Contains(allowed, k) })
	if len(lasting) == 0 {
		return false
	}
	g.fates, g.outages = []Kind{pick(g.mix, lasting...)}, nil
	g.kinds = g.fates
	g.names, g.sites, g.apart = pick(g.mix, 2, 3, 10, 20), pick(g.mix, 1, 1, 3, 10), butOne
	g.config.MaxInFlight, g.config.FlushInterval = pick(g.mix, 16, 64), 20*time.Millisecond
	g.config.BackoffMin, g.config.BackoffMax = 500*time.Millisecond, 15*time.Second
	g.latency, g.closing = 5*time.Millisecond, time.Second+13*time.Millisecond
	calm := step{do: track, callers: 1, gap: 900 * time.Millisecond, at: pick(g.mix, 0, 8*time.Second)}
	for range 40 {
		calm.events = append(calm.events, event{n: g.next, kind: g.names*g.sites - 1, fate: fate{kind: good}})
		g.next++
	}
	g.steps = append(g.steps, calm)
	for at := pick(g.mix, 0, 5*time.Second); at < 30*time.Second; at += time.Duration(g.mix.IntN(5000)) * time.Millisecond {
		g.steps = append(g.steps, g.flood(at))
	}
	slices.SortStableFunc(g.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return true
}

// flood returns a step with hundreds of events that fail.
func (g *generator) flood(at time.Duration) step {
	s := step{at: at, do: track, callers: pick(g.mix, 1, 4), gap: pick(g.mix, 0, 2*time.Millisecond)}
	for range 50 + g.mix.IntN(300) {
		f := g.fate(g.fates[0])
		f.times = forever
		s.events = append(s.events, event{n: g.next, kind: g.kindOf(f), fate: f})
		g.next++
	}
	return s
}

// kindOf draws a kind for an event of a fate.
func (g *generator) kindOf(f fate) int {
	for {
		kind := g.mix.IntN(g.names * g.sites)
		if g.apart == anyKind || g.mayFail(kind) == (f.kind != good) {
			return kind
		}
	}
}

// single generates events one by one, with an API that answers quickly or not at all, so that
// the effect of one event on the next is visible.
func (g *generator) single() {
	g.mood.pause = pick(g.Rand, 300*time.Millisecond, 2*time.Second)
	g.mood.burst, g.mood.bad = 1, 0.5
	g.config.FlushInterval, g.config.AttemptTimeout = 10*time.Millisecond, 5*time.Second
	g.config.BackoffMin, g.config.BackoffMax = 20*time.Millisecond, 160*time.Millisecond
}

// requests estimates the requests for events that are never accepted.
func (g *generator) requests() int { return g.forever * int(g.now/g.config.BackoffMax) }

// atMost shortens durations that would contain thousands of attempts.
func (g *generator) atMost(d time.Duration) time.Duration {
	return min(d, 150*g.config.BackoffMax)
}

// choose draws up to three kinds for events, and up to two for the API and the application.
// More failures would hide each other.
func (g *generator) choose(allowed []Kind) {
	draw := func(from []Kind, limit int) (drawn []Kind) {
		from = slices.DeleteFunc(slices.Clone(from), func(k Kind) bool { return !slices.Contains(allowed, k) })
		g.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		return from[:min(len(from), g.IntN(limit+1))]
	}
	if g.IntN(12) == 0 {
		return // nothing goes wrong
	}
	g.fates = draw(append([]Kind{Unsolicited}, eventKinds...), 3)
	g.outages = draw(outageKinds, 2)
	g.kinds = slices.Concat(g.fates, g.outages, draw(otherKinds, 2))
}

func (g *generator) has(k Kind) bool { return slices.Contains(g.kinds, k) }

func (g *generator) configure() {
	backoff := pick(g.Rand, 20*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond)
	probe := pick(g.Rand, time.Second, 30*time.Second)
	g.config = footfall.Config{
		SiteID:         "site_1",
		MaxInFlight:    pick(g.Rand, 1, 1, 2, 4, 8, 64, 64, 1+g.IntN(64)),
		BatchSize:      pick(g.Rand, 1, 10, 100, 100, 1+g.IntN(200)),
		FlushInterval:  pick(g.Rand, 10*time.Millisecond, 100*time.Millisecond, time.Second, time.Second, 5*time.Second),
		MaxQueueEvents: 50_000,
		MaxQueueBytes:  16 << 20,
		MaxEventBytes:  2 << 10,
		AttemptTimeout: pick(g.Rand, 200*time.Millisecond, time.Second, 5*time.Second),
		BackoffMin:     backoff,
		BackoffMax:     backoff * pick[time.Duration](g.Rand, 4, 8, 30),
		MaxRetryAfter:  pick(g.Rand, 10*time.Second, 5*time.Minute),
		ProbeMin:       probe,
		ProbeMax:       probe * pick[time.Duration](g.Rand, 1, 4, 10),
	}
	if g.has(SmallQueue) {
		g.config.MaxQueueEvents = pick(g.Rand, 1, 5, 40, 1000)
		g.config.MaxQueueBytes = pick(g.Rand, 2<<10, 8<<10, 1<<20)
		g.config.DropOldest = g.IntN(2) == 0
	}
	g.latency = time.Duration(g.Int64N(int64(g.config.AttemptTimeout / 20)))
	if g.IntN(4) == 0 {
		g.latency = 0
	}
}

// step adds a step.
func (g *generator) step() {
	if len(g.steps) > 0 {
		g.now += time.Duration(g.ExpFloat64() * float64(g.mood.pause)).Round(time.Millisecond)
	}
	s := step{at: g.now}
	switch d := g.IntN(100); {
	case d < 8 && len(g.steps) > 0:
		s.do, s.deadline = flush, g.deadline()
	case d < 16:
		s.do, s.deadline, s.events = durable, g.deadline(), g.events(1+g.IntN(3))
	case d < 20:
		s.do = invalid
	case d < 36 && len(g.outages) > 0:
		s.do, s.outage = fail, g.outage()
	default:
		s.do, s.events = track, g.events(1+g.IntN(g.mood.burst))
		s.callers = pick(g.Rand, 1, 1, 2, 4)
		s.gap = pick(g.Rand, 0, 0, 10*time.Millisecond, 300*time.Millisecond, 3*time.Second)
	}
	g.steps = append(g.steps, s)
	if g.IntN(8) == 0 {
		g.now += g.recovery() // silence
	}
}

func (g *generator) deadline() time.Duration {
	return g.atMost(pick(g.Rand, time.Millisecond, 100*time.Millisecond, time.Second, 7*time.Second, time.Minute, 10*time.Minute))
}

func (g *generator) recovery() time.Duration {
	return pick(g.Rand, 3*time.Second, 2*g.config.BackoffMax, 2*g.config.ProbeMax)
}

func (g *generator) events(n int) []event {
	events := make([]event, n)
	for i := range events {
		e := event{n: g.next, fate: fate{kind: good}}
		const limit = 70 // more than MaxInFlight ever is
		if len(g.fates) > 0 && g.forever < limit && (g.Float64() < g.mood.bad || g.next == 0 && g.mood.first) {
			e.fate = g.fate(pick(g.Rand, g.fates...))
		}
		if !e.fate.settles() {
			g.forever++
		}
		if g.IntN(3) == 0 {
			e.pad = g.IntN(500)
		}
		e.kind = g.kindOf(e.fate)
		events[i] = e
		g.next++
	}
	return events
}

func (g *generator) fate(kind Kind) fate {
	f := fate{kind: kind}
	switch kind {
	case Fails:
		f.status, f.times = pick(g.Rand, 500, 502, 503, 504, 408, 425), 1+g.IntN(5)
	case Poison:
		f.status, f.times = pick(g.Rand, 500, 503), forever
	case SlowFails:
		f.status, f.times = pick(g.Rand, 500, 503), pick(g.Rand, 1, 2, forever)
	case Limited:
		f.status, f.times = pick(g.Rand, 429, 503), pick(g.Rand, 1, 1, 3, forever)
		f.retryAfter = pick(g.Rand, 1, 5, 60, 300)
	case Forbidden:
		f.status, f.times = 403, forever
	case Invalid:
		f.status = pick(g.Rand, 400, 404, 409, 413, 415, 422)
	case Hangs:
		f.times = pick(g.Rand, 1, 2, 3, forever)
	case Resets:
		f.times = pick(g.Rand, 1, 2, 4, forever)
	case AnswerLost, AnswerLate, HeaderCut:
		f.times = 1 + g.IntN(2)
	}
	return f
}

func (g *generator) outage() outage {
	o := outage{
		kind:       pick(g.Rand, g.outages...),
		lasts:      pick(g.Rand, time.Second, 5*time.Second, time.Minute, 10*time.Minute),
		how:        pick(g.Rand, refusing, unavailable, silent),
		status:     pick(g.Rand, 200, 302, 404),
		retryAfter: time.Duration(1+g.IntN(60)) * time.Second,
	}
	if g.IntN(10) == 0 {
		o.lasts = time.Hour
	}
	o.lasts = g.atMost(o.lasts)
	return o
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
