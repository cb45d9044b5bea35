package retry

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEventsOfAGroupTakeTurnsAsProbes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	later := now.Add(time.Minute)
	for name, row := range map[string]struct {
		fresh, failed string        // a letter for each event, oldest first
		wait          time.Duration // of those that failed
		due           Due
		pick          Pick
		want          string // the events that may be sent, in that order
	}{
		"those never sent and those that failed":      {fresh: "ab", failed: "xy", due: Due{Next: now, Early: now, New: now, Since: now}, pick: Probe, want: "baxy"},
		"before the next probe only those never sent": {fresh: "ab", failed: "x", due: Due{Next: later, Early: now, New: now, Since: now}, pick: Probe, want: "ba"},
		"early only those never sent":                 {fresh: "ab", failed: "x", due: Due{Next: now, Early: now, New: now, Since: now}, pick: Early, want: "ba"},
		"while many fail only the newest is early":    {fresh: "abc", due: Due{Next: later, Early: later, New: now, Since: now}, pick: Probe, want: "cba"},
		"none is early that is older than one sent":   {fresh: "ab", due: Due{Next: later, Early: later, New: now, Since: now.Add(1)}, pick: Probe},
		"none before its own wait":                    {failed: "x", wait: time.Second, due: Due{Next: now, Early: now, New: now, Since: now}, pick: Probe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHeld[string](func() {})
			t.Cleanup(h.Stop)
			b := Block{at: kindLevel, due: row.due}
			for _, c := range row.fresh {
				e := event(string(c), 0)
				e.Fresh = true
				h.Add(e, b, now)
			}
			for _, c := range row.failed {
				h.Add(event(string(c), row.wait), b, now)
			}
			due, doubtful := h.Due(now)
			assert.Equal(t, min(1, len(row.want)), due)
			assert.Equal(t, due, doubtful)
			var sent strings.Builder
			for e, ok := h.Take(row.pick, now); ok; e, ok = h.Take(row.pick, now) {
				sent.WriteString(e.Value)
			}
			assert.Equal(t, row.want, sent.String())
		})
	}
}

func TestAnEventThatArrivesWhileProbesAreFrequentIsTheNextOne(t *testing.T) {
	t.Parallel()
	h := NewHeld[string](func() {})
	t.Cleanup(h.Stop)
	now := time.Unix(1_000_000, 0)
	b := func(kind uint64) Block {
		return Block{at: apiLevel, kind: Kind{Name: kind}, due: Due{Next: now, Early: now, New: now, Last: now}}
	}
	for i := range 10 {
		e := event("old", 0)
		e.Fresh, e.Kind.Name = i%2 == 0, uint64(i)
		h.Add(e, b(uint64(i)), now)
	}
	e := event("new", 0)
	e.Fresh, e.Kind.Name = true, 2
	h.Add(e, b(2), now.Add(1))
	got, ok := h.Take(Probe, now.Add(time.Second))
	assert.True(t, ok)
	assert.Equal(t, "new", got.Value)
}

// One kind may be accepted although all others fail.
func TestKindsTakeTurnsAsProbes(t *testing.T) {
	t.Parallel()
	h := NewHeld[string](func() {})
	t.Cleanup(h.Stop)
	now := time.Unix(1_000_000, 0)
	for i, kinds := range []string{"aaaaaaaaaa", "b", "cc"} {
		for range kinds {
			e := event(kinds[:1], 0)
			e.Kind, e.Fresh = kind(1, i), i < 2
			h.Add(e, Block{at: apiLevel, kind: e.Kind, due: Due{Next: now, Early: now, New: now, Since: now}}, now)
		}
	}
	for range 4 {
		seen := map[string]int{}
		for range 3 {
			e, ok := h.Take(Probe, now)
			assert.True(t, ok)
			seen[e.Value]++
			h.Add(e, Block{at: apiLevel, kind: e.Kind, due: Due{Next: now, Early: now, New: now, Since: now}}, now)
		}
		assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, seen)
	}
}

func TestProbesAreTheNewestARandomAndTheOldestInTurns(t *testing.T) {
	t.Parallel()
	var l list[string]
	for n := range 100 {
		l.add(&heldEvent[string]{Event: Event[string]{Value: string(rune('a' + n))}})
	}
	random := map[string]bool{}
	for range 1000 {
		assert.Equal(t, l.events[99], l.some())
		random[l.some().Value] = true
		assert.Equal(t, l.events[0], l.some())
	}
	assert.Greater(t, len(random), 90)
}

func TestEventsOfALimitedKindThatWereNeverSentKeepTheirOrder(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	p := &pile[string]{again: byTime[string]()}
	for n := range 100 {
		p.fresh.add(&heldEvent[string]{Event: Event[string]{Value: string(rune('a' + n)), Fresh: true}})
	}
	for n := range 100 {
		e := p.candidate(Turn, &group[string]{due: Due{Next: now, Early: now, New: now}, paced: true}, now)
		assert.Equal(t, string(rune('a'+n)), e.Value)
		p.fresh.remove(e)
	}
}

// At least every second probe is of the kind that was accepted last, and others have their turns, whatever is sent while only others are due.
func TestTheKindThatWasAcceptedLastHasEverySecondProbe(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for between := range 4 {
		g := &group[string]{due: Due{Next: now, Early: now, New: now, notBefore: now.Add(time.Minute)}, piles: make(map[Kind]*pile[string])}
		for n, name := range []string{"other", "rare", "last"} {
			p := &pile[string]{again: byTime[string](), asked: now.Add(time.Duration(n) * time.Hour), accepted: now.Add(time.Duration(n) * time.Second)}
			p.again.add(&heldEvent[string]{Event: Event[string]{Value: name}, due: now})
			g.piles[kind(1, n)] = p
		}
		taken := map[string]int{}
		for range 40 {
			for range between {
				assert.Equal(t, "other", g.candidate(Probe, now).Value)
			}
			taken[g.candidate(Probe, now.Add(time.Minute)).Value]++
		}
		assert.GreaterOrEqual(t, taken["last"], 20, "%d between", between)
		assert.GreaterOrEqual(t, taken["rare"], 5, "%d between", between)
	}
}

// An event that fails again and again would take half of the probes for good.
func TestAKindWhoseEventFailsOftenHasNoMoreProbesThanOthers(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for failed, most := range map[int]int{oftenFailed: 21, oftenFailed + 1: 10} {
		g := &group[string]{due: Due{Next: now, Early: now, New: now}, piles: make(map[Kind]*pile[string])}
		for n := range 4 {
			p := &pile[string]{again: byTime[string](), accepted: now.Add(-time.Duration(n) * time.Second)}
			p.again.add(&heldEvent[string]{Event: Event[string]{Kind: kind(1, n), Failed: failed}, due: now})
			g.piles[kind(1, n)] = p
		}
		last := 0
		for range 40 {
			if g.candidate(Probe, now).Kind == kind(1, 0) {
				last++
			}
		}
		assert.InDelta(t, most, last, 2, "%d failed attempts", failed)
	}
}

// The breaker that has had no probe for longest has the next one.
func TestOpenBreakersTakeTurns(t *testing.T) {
	t.Parallel()
	h := NewHeld[string](func() {})
	t.Cleanup(h.Stop)
	now := time.Unix(1_000_000, 0)
	block := func(name uint64) Block {
		due := Due{Next: now, Early: now, New: now, began: now.Add(-time.Duration(name) * time.Second)}
		return Block{at: kindLevel, kind: Kind{Name: name}, due: due}
	}
	for _, name := range []uint64{2, 3, 1} {
		for range 2 {
			h.Add(event(string(rune('0'+name)), 0), block(name), now)
		}
	}
	var sent strings.Builder
	for range 6 {
		e, ok := h.Take(Probe, now)
		assert.True(t, ok)
		sent.WriteString(e.Value)
		next := block(uint64(e.Value[0] - '0'))
		next.due.began = now
		now = now.Add(time.Second)
		h.SetDue(next, now)
	}
	assert.Equal(t, "321321", sent.String())
}

// Every second probe is of the kind that was accepted last, unless its event has failed often, or for long.
func TestAKindWhoseEventTakesLongIsNotPreferred(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]int{0: 4, 10 * time.Second: 2} {
		h := NewHeld[string](func() {})
		t.Cleanup(h.Stop)
		now := time.Unix(1_000_000, 0)
		block := func(k Kind) Block {
			b := Block{at: apiLevel, kind: k, due: Due{Next: now}}
			if k.Name == 1 {
				b.accepted = now
			}
			return b
		}
		for name := range uint64(5) {
			e := event("", 0)
			e.Kind, e.Failed, e.Took = Kind{Name: name}, 1, took
			h.Add(e, block(e.Kind), now)
		}
		preferred := 0
		for range 9 {
			e, ok := h.Take(Probe, now)
			assert.True(t, ok)
			if e.Kind.Name == 1 {
				preferred++
			}
			h.Return(e, block(e.Kind), now)
		}
		assert.LessOrEqual(t, preferred, want+1)
		assert.GreaterOrEqual(t, preferred, want-1)
	}
}
