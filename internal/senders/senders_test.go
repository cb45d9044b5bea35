package senders

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const interval = 20 * time.Millisecond

// at returns a time after the beginning.
func at(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }

// busy returns a Pool whose senders all have an attempt in flight, which began at the given times.
func busy(began ...time.Duration) (c Pool, members []*Sender) {
	c = NewPool(len(began), interval)
	for _, d := range began {
		m := &Sender{Interruption: &Interruption{}}
		c.Start()
		c.BeginAttempt(m, false, false, at(d))
		m.Interruption.Begin()
		members = append(members, m)
	}
	return c, members
}

func TestPoolStartsNoMoreSendersThanItMay(t *testing.T) {
	c := NewPool(2, interval)
	assert.True(t, c.Start())
	assert.True(t, c.Start())
	assert.False(t, c.Start())
	c.End(&Sender{})
	assert.Equal(t, 1, c.Running())
	assert.True(t, c.Start())
}

func TestPoolWantsASenderForEightEventsThatNoMovingSenderTakes(t *testing.T) {
	c := NewPool(64, interval)
	for waiting, want := range map[int]int{0: 0, 1: 1, 8: 1, 9: 2, 64: 8} {
		assert.Equal(t, want, c.Wanted(waiting), waiting)
	}
	m := &Sender{}
	c.Start()
	for range 2 { // it moves from its second attempt on
		c.BeginAttempt(m, false, false, at(0))
		c.EndAttempt(m, false, at(0))
	}
	c.Start()
	c.BeginAttempt(&Sender{}, false, false, at(0)) // may get no answer
	assert.Equal(t, 1, c.Wanted(16))
	assert.Equal(t, 2, c.Wanted(16), "it has not moved since")
	c.BeginAttempt(m, false, false, at(0))
	c.EndAttempt(m, false, at(0))
	c.End(m)
	assert.Equal(t, 2, c.Wanted(16), "it has ended")
}

func TestPoolWantsMoreSendersIfAttemptsTakeLong(t *testing.T) {
	c := NewPool(64, interval)
	m := &Sender{}
	for range 100 {
		c.BeginAttempt(m, false, false, at(0))
		c.EndAttempt(m, true, at(10*time.Millisecond))
	}
	assert.Equal(t, 4, (&c).Wanted(8), "two events in each interval")
}

func TestAttemptsThatTakeLongAreStuckOnce(t *testing.T) {
	c, members := busy(0, 500*time.Millisecond, 0)
	stuck, next := c.Stuck(8, normal, at(900*time.Millisecond))
	assert.Empty(t, stuck)
	assert.Equal(t, 100*time.Millisecond, next)
	stuck, next = c.Stuck(8, normal, at(time.Second))
	assert.Len(t, stuck, 2)
	assert.Equal(t, 500*time.Millisecond, next)
	for _, interrupt := range stuck {
		interrupt()
	}
	assert.True(t, members[0].Interruption.End())
	assert.False(t, members[1].Interruption.End())
	assert.True(t, members[2].Interruption.End())
	stuck, _ = c.Stuck(8, normal, at(time.Second))
	assert.Empty(t, stuck)
}

var (
	normal  = Patience{}
	all     = Patience{All: true}
	closing = Patience{Closing: true}
)

func TestNoAttemptIsStuckWithoutNeed(t *testing.T) {
	now := at(time.Minute)
	for name, row := range map[string]struct {
		change func(c *Pool, members []*Sender)
		n      int
		of     Patience
		want   int
	}{
		"as many as senders are missing": {func(*Pool, []*Sender) {}, 1, normal, 1},
		"no sender is missing":           {func(*Pool, []*Sender) {}, 0, normal, 0},
		"a sender may start":             {func(c *Pool, _ []*Sender) { c.End(&Sender{}) }, 8, normal, 0},
		"a sender may start, but all":    {func(c *Pool, _ []*Sender) { c.End(&Sender{}) }, 8, all, 3},
		"one attempt has ended":          {func(c *Pool, m []*Sender) { c.EndAttempt(m[0], false, now) }, 8, normal, 2},
		"one gets all its time": {func(c *Pool, m []*Sender) {
			c.EndAttempt(m[1], false, now)
			c.BeginAttempt(m[1], true, false, at(0))
		}, 8, normal, 2},
		"while the tracker closes, none was answered since": {func(*Pool, []*Sender) {}, 0, closing, 0},
		"while the tracker closes, one was answered since":  {func(c *Pool, m []*Sender) { c.EndAttempt(m[0], true, at(time.Second)) }, 0, closing, 2},
		"the same, and one was interrupted so before": {func(c *Pool, m []*Sender) {
			c.EndAttempt(m[1], false, now)
			c.BeginAttempt(m[1], true, true, at(0))
			c.EndAttempt(m[0], true, at(time.Second))
		}, 0, closing, 1},
		"attempts usually take 20 s": {func(c *Pool, m []*Sender) {
			c.EndAttempt(m[2], true, at(20*time.Second))
			c.BeginAttempt(m[2], false, false, at(0))
		}, 8, normal, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, members := busy(0, 0, 0)
			row.change(&c, members)
			stuck, next := c.Stuck(row.n, row.of, now)
			assert.Len(t, stuck, row.want)
			assert.Equal(t, row.of != normal, next == time.Second, "an attempt may begin")
		})
	}
}

func TestHalfOfTheSendersMayHaveAttemptsThatGetAllTheirTime(t *testing.T) {
	c := NewPool(6, interval)
	for i := range 6 {
		m := &Sender{Interruption: &Interruption{}}
		c.Start()
		c.BeginAttempt(m, true, false, at(0))
		assert.Equal(t, i < 3, m.whole, i)
	}
	c.EndAttempt(c.busy[0], false, at(0))
	m := &Sender{Interruption: &Interruption{}}
	c.BeginAttempt(m, true, false, at(0))
	assert.True(t, m.whole)
}

func TestShareIsATenthOfTheSendersAndOfTheirTime(t *testing.T) {
	for most, want := range map[int]int{1: 1, 9: 1, 20: 2, 64: 6} {
		s := Share{Senders: most}
		for range want {
			assert.True(t, s.Free(), most)
			s.Begin()
		}
		assert.False(t, s.Free(), most)
	}
	s := Share{Senders: 20}
	s.Begin()
	s.End(at(0), false, at(time.Second))
	assert.False(t, s.HasTime(at(499*time.Millisecond)), "a second of 20 senders in ten half seconds of all")
	assert.True(t, s.HasTime(at(500*time.Millisecond)))
}

func TestShareForgetsHalfOfTheTimeWhenADoubtfulEventIsSettled(t *testing.T) {
	s := Share{Senders: 1}
	s.Begin()
	s.End(at(0), false, at(time.Second))
	s.Begin()
	s.End(at(time.Second), true, at(2*time.Second))
	assert.False(t, s.HasTime(at(5999*time.Millisecond)))
	assert.True(t, s.HasTime(at(6*time.Second)), "of ten seconds eight were left")
}

func TestShareForgetsTheTimeThatDoubtfulEventsTookFromNoOther(t *testing.T) {
	s := Share{Senders: 1}
	for i := range 100 {
		s.Begin()
		s.End(at(time.Duration(i)*time.Second), false, at(time.Duration(i+1)*time.Second))
	}
	assert.False(t, s.HasTime(at(109*time.Second)))
	assert.True(t, s.HasTime(at(110*time.Second)))
}

func TestNearlyAllSendersGiveAttemptsAllTheirTimeAtCloseIfNothingWasEverAccepted(t *testing.T) {
	for accepted, want := range map[bool]int{true: 3, false: 7} {
		p := NewPool(8, time.Second)
		p.Close(accepted)
		whole := 0
		for range 8 {
			m := &Sender{Interruption: &Interruption{}}
			p.BeginAttempt(m, true, false, at(0))
			if m.whole {
				whole++
			}
		}
		assert.Equal(t, want, whole)
	}
}

func TestShareIsHalfOfTheSendersWhileTheTrackerCloses(t *testing.T) {
	for most, want := range map[int]int{1: 1, 2: 1, 4: 2, 64: 32} {
		s := Share{Senders: most}
		s.Close()
		for range want {
			assert.True(t, s.Free(), most)
			s.Begin()
		}
		assert.False(t, s.Free(), most)
	}
}

func TestShareGrowsWhileDoubtfulEventsAreSettled(t *testing.T) {
	s := Share{Senders: 20}
	free := func() (n int) {
		for s.Free() {
			s.Begin()
			n++
		}
		for range n {
			s.inFlight--
		}
		return n
	}
	for n := range 30 {
		assert.Equal(t, 2+min(n, 10), free())
		s.Begin()
		s.End(at(0), true, at(time.Second))
		assert.True(t, s.HasTime(at(0)), "it took nothing from others")
	}
	for _, want := range []int{7, 4, 3, 2, 2} {
		s.Begin()
		s.End(at(0), false, at(0))
		assert.Equal(t, want, free())
	}
}

func TestShareLeavesASenderToEventsThatAreNotDoubtful(t *testing.T) {
	for most, want := range map[int][2]int{1: {1, 2}, 2: {1, 2}, 3: {2, 2}, 8: {7, 7}} {
		for i, othersWait := range []bool{true, false} {
			s := Share{Senders: most}
			for range want[i] {
				assert.True(t, s.FreeForNew(othersWait), most)
				s.Begin()
			}
			assert.False(t, s.FreeForNew(othersWait), most)
		}
	}
}
