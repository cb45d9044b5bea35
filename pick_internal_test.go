package footfall

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/wire"
)

// backlog is a Store of records that wait.
type backlog struct{ records []Record }

func (b *backlog) Waiting() (n int, more bool)                    { return len(b.records), false }
func (b *backlog) Retry(r Record, _ error) (kept Record, ok bool) { return r, true }
func (b *backlog) Settle([]Record, Outcome, error)                {}

func (b *backlog) Take(dst []Record) int {
	n := copy(dst, b.records)
	b.records = b.records[n:]
	return n
}

// picking is a transport of 20 senders that takes events and sends none.
type picking struct {
	*httpTransport
	src   *Source
	store *backlog
}

// inPicking calls test in a bubble.
func inPicking(t *testing.T, test func(t *testing.T, p *picking)) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{MaxInFlight: 20}
		cfg = cfg.withDefaults()
		p := &picking{newHTTPTransport(&cfg, nil, newReporter(slog.New(slog.DiscardHandler), nil)), nil, &backlog{}}
		p.src = NewSource(p.store)
		test(t, p)
	})
}

func named(name string) (r Record, kind retry.Kind) {
	r = Record{ID: EventID(uuid.Must(uuid.NewV7())), Body: []byte(`{"site_id":"s","name":"` + name + `"}`)}
	return r, retry.NewKind(wire.SiteAndName(r.Body))
}

// wait adds n events that were never sent.
func (p *picking) wait(name string, n int) {
	for range n {
		r, _ := named(name)
		p.store.records = append(p.store.records, r)
	}
}

// hold holds an event.
func (p *picking) hold(name string, e retry.Event[*Record]) {
	r, kind := named(name)
	e.ID, e.Kind, e.Value = uuid.UUID(r.ID), kind, &r
	p.src.held.Add(e, p.scopes.BlockOf(kind), time.Now())
}

// open opens the breaker of a kind with n failures, while another kind is accepted.
func (p *picking) open(name string, n int) {
	pass := retry.Admission{Began: time.Now()}
	_, good := named("good")
	p.scopes.Accept(good, pass, time.Now())
	_, kind := named(name)
	for range n {
		p.scopes.Fail(kind, pass, &retry.Failure{First: true, Class: retry.KeyRefused}, time.Now())
	}
}

// take returns the name of the next event that is sent, or "".
func (p *picking) take(w *worker) string {
	if !p.pick(p.src, w) {
		return ""
	}
	_, name := wire.SiteAndName(w.one[0].Body)
	return string(name[1 : len(name)-1])
}

func letters(n int) (names []string) {
	for i := range n {
		names = append(names, string(rune('a'+i)))
	}
	return names
}

func TestDoubtfulEventsHaveATenthOfTheSenders(t *testing.T) {
	for name, add := range map[string]func(p *picking, name string){
		"suspects": func(p *picking, name string) { p.hold(name, retry.Event[*Record]{Suspect: true}) },
		"probes":   func(p *picking, name string) { p.open(name, 5); p.hold(name, retry.Event[*Record]{}) },
	} {
		t.Run(name, func(t *testing.T) {
			inPicking(t, func(t *testing.T, p *picking) {
				for _, name := range letters(4) {
					add(p, name)
				}
				time.Sleep(20 * time.Second)
				for i := range 4 {
					assert.Equal(t, i < 2, p.take(&worker{}) != "", i)
				}
				p.open("new", 5)
				p.hold("new", retry.Event[*Record]{Fresh: true})
				time.Sleep(time.Second)
				assert.Equal(t, "new", p.take(&worker{}), "an event that was never sent does not wait for them")
			})
		})
	}
}

func TestProbesAndSuspectsTakeTurnsInABacklog(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		for _, name := range letters(20) {
			p.open(name, 5)
			p.hold(name, retry.Event[*Record]{})
			p.hold("suspect", retry.Event[*Record]{Suspect: true})
		}
		time.Sleep(20 * time.Second)
		p.wait("good", 1000)
		taken := func() (suspects, probes int) {
			for range 100 {
				w := &worker{}
				switch name := p.take(w); {
				case name == "suspect":
					suspects++
				case w.admission.IsProbe():
					probes++
				}
				if w.doubtful {
					p.share.End(time.Now(), false, time.Now())
				}
			}
			return suspects, probes
		}
		suspects, probes := taken()
		assert.Equal(t, [2]int{5, 5}, [2]int{suspects, probes})
		p.share.Begin()
		p.share.End(time.Now().Add(-time.Hour), false, time.Now())
		suspects, probes = taken()
		assert.Zero(t, suspects+probes, "they have used the time of an hour")
	})
}

// limit shows that the API bounds the rate of a kind.
func (p *picking) limit(name string) {
	_, limited := named(name)
	pass := retry.Admission{Began: time.Now()}
	p.scopes.Fail(limited, pass, &retry.Failure{First: true, Limits: true}, time.Now())
	p.scopes.Recovered(limited, time.Now())
	p.scopes.Accept(limited, pass, time.Now())
	for range 6 {
		p.scopes.Fail(limited, pass, &retry.Failure{First: true, Limits: true}, time.Now())
	}
}

// An event that arrives is sent after older ones of its kind.
func TestEventsOfALimitedKindKeepTheirOrder(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		p.limit("limited")
		for range 3 {
			p.hold("limited", retry.Event[*Record]{Fresh: true})
		}
		p.wait("limited", 3)
		var ids []string
		for range 6 {
			time.Sleep(time.Second)
			w := &worker{}
			require.Equal(t, "limited", p.take(w))
			ids = append(ids, w.one[0].ID.String())
		}
		assert.IsIncreasing(t, ids)
	})
}

// Events of limited kinds of a site share its rate.
func TestLimitedKindsTakeTurns(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		for _, name := range letters(4) {
			p.limit(name)
			for range 5 {
				p.hold(name, retry.Event[*Record]{Fresh: true})
			}
		}
		turns := make(map[string]int)
		for range 12 {
			time.Sleep(time.Second)
			turns[p.take(&worker{})]++
		}
		assert.Equal(t, map[string]int{"a": 3, "b": 3, "c": 3, "d": 3}, turns)
	})
}

// Probes that have been sent in the meantime do not keep another one from its turn.
func TestAnEventThatIsNotAdmittedYieldsItsTurn(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		for _, name := range letters(20) {
			p.open(name, 5)
			p.hold(name, retry.Event[*Record]{})
		}
		time.Sleep(20 * time.Second)
		for _, name := range letters(20)[1:] {
			_, kind := named(name)
			_, ok := p.scopes.Admit(kind, retry.Sent, time.Now())
			require.True(t, ok)
		}
		assert.Equal(t, "a", p.take(&worker{}))
	})
}

func TestEventsOfALimitedKindGetTheirTurnsInABacklog(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		p.limit("limited")
		p.wait("good", 1000)
		for range 20 {
			p.hold("limited", retry.Event[*Record]{Fresh: true})
		}
		turns := 0
		for range 10 {
			time.Sleep(200 * time.Millisecond) // one of at least five a second
			for range 2 {
				if p.take(&worker{}) == "limited" {
					turns++
				}
			}
		}
		assert.Equal(t, 10, turns)
	})
}

func TestANewEventIsAProbeWhenItArrives(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		p.open("bad", 10)
		time.Sleep(time.Second)
		p.wait("bad", 2)
		p.wait("good", 1)
		assert.Equal(t, "bad", p.take(&worker{}))
		assert.Equal(t, "good", p.take(&worker{}), "before a second event of that kind")
		assert.Equal(t, "", p.take(&worker{}))
		time.Sleep(time.Second)
		assert.Equal(t, "bad", p.take(&worker{}), "it has arrived after the first one was sent")
	})
}

func TestABreakerThatClosesWakesDeliver(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		p.changed(p.src, &worker{}, retry.Change{Closed: true}, time.Now())
		assert.True(t, p.src.woken.Load())
	})
}

// With one sender, most attempts find no other event and end it. Probes and suspects take turns nevertheless.
func TestProbesAndSuspectsTakeTurnsInOneSender(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		p.share.Senders = 1
		p.open("probe", 5)
		for range 20 {
			p.hold("probe", retry.Event[*Record]{})
			p.hold("suspect", retry.Event[*Record]{Suspect: true})
		}
		var taken []string
		for range 6 {
			time.Sleep(20 * time.Second)
			w := &worker{}
			taken = append(taken, p.take(w))
			assert.Empty(t, p.take(&worker{}), "a tenth of the senders is one")
			if w.admission.IsProbe() {
				p.scopes.Fail(w.kind, w.admission, &retry.Failure{}, time.Now())
				p.changed(p.src, w, retry.Change{}, time.Now())
			}
			p.share.End(time.Now(), false, time.Now())
		}
		assert.Equal(t, []string{"probe", "suspect", "probe", "suspect", "probe", "suspect"}, taken)
	})
}

// The only sender is for events that the API would accept. In an outage there are none.
func TestAProbeInAnOutageTakesNoTimeFromOthers(t *testing.T) {
	for name, row := range map[string]struct {
		probe   bool
		accepts bool // another event, before the probe begins
		want    bool // there is time for another doubtful event at once
	}{
		"of the API": {probe: true, want: true}, "of the API, which accepts others": {probe: true, accepts: true}, "of a kind": {},
	} {
		t.Run(name, func(t *testing.T) {
			inPicking(t, func(t *testing.T, p *picking) {
				p.share.Senders = 1
				if row.probe {
					for _, name := range letters(5) {
						_, kind := named(name)
						p.scopes.Fail(kind, retry.Admission{Began: time.Now()}, &retry.Failure{First: true, NoAPI: true}, time.Now())
					}
				} else {
					p.open("a", 5)
				}
				time.Sleep(20 * time.Second)
				p.hold("a", retry.Event[*Record]{})
				w := &worker{}
				assert.Equal(t, "a", p.take(w))
				assert.Equal(t, row.probe, w.admission.IsWide())
				if row.accepts {
					_, kind := named("good")
					p.scopes.Accept(kind, retry.Admission{Began: time.Now()}, time.Now())
				}
				time.Sleep(5 * time.Second)
				p.pool.BeginAttempt(&w.sender, false, false, w.admission.Began)
				p.ended(w, false, time.Now())
				assert.Equal(t, row.want, p.share.HasTime(time.Now()))
			})
		})
	}
}
