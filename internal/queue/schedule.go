package queue

import "time"

// schedule decides when a batch of waiting events is due: the first event after a quiet time at once,
// further ones when a full batch waits, or an interval after the last batch. It is a value, and reads
// no clock. Its methods that return alarm ask for the timer to be set to that time, unless it is zero.
type schedule struct {
	batch    int           // events of a full batch
	interval time.Duration // from one batch to the next that is not full

	phase phase
	fresh int           // events since the last batch was due
	due   bool          // a batch is due in any case
	moved bool          // events were taken since the last batch was due
	wait  time.Duration // interval, or longer while no events are taken
}

// phase is what the timer runs for.
type phase uint8

const (
	idle  phase = iota // it does not run, and the next event is due at once
	waits              // events wait for the end of wait
	rests              // a full batch was due a moment ago, and no event triggers the transport
)

// restTime is the least time between two full batches. A tight loop adds a hundred events in
// 20 µs, and a trigger for each hundred would be a sixth of the cost of Track.
const restTime = time.Millisecond

// LookAgain is the least time until DueBatch reports again a batch that the transport did not
// take.
const LookAgain = time.Second

func newSchedule(batch int, interval time.Duration) schedule {
	return schedule{batch: batch, interval: interval, wait: interval, moved: true}
}

// look begins the next batch if waiting events are due, or if there are none. ready reports
// whether it did.
func (s *schedule) look(waiting int) (ready bool, alarm time.Duration) {
	full := s.phase != rests && s.fresh >= s.batch
	switch {
	case waiting == 0:
		s.fresh, s.due = 0, false
		return true, 0
	case !full && s.phase != idle && !s.due:
		return false, 0
	}
	s.grow()
	if full {
		s.phase, alarm = rests, s.rest()
	} else if s.phase == idle { // for the next events, or to report this batch again
		s.phase, alarm = waits, s.wait
	}
	s.fresh, s.due = 0, false
	return true, alarm
}

// grow doubles the wait if no event was taken since the last batch, such as in an outage.
func (s *schedule) grow() {
	s.wait = min(2*s.wait, max(LookAgain, s.interval))
	if s.moved {
		s.wait = s.interval
	}
	s.moved = false
}

// rest returns how long no batch is due after a full one.
func (s *schedule) rest() time.Duration { return min(restTime, s.interval) }

// woken makes a batch due, because the transport may take some events. Events wait for the interval
// again.
func (s *schedule) woken() {
	if s.wait > s.interval && s.phase == waits {
		s.phase = idle
	}
	s.due, s.moved = true, true
}

// took notes that events are taken. If the wait has grown because all senders were busy, a new
// event must not wait longer than the interval.
func (s *schedule) took() (alarm time.Duration) {
	s.moved = true
	if s.wait > s.interval && s.phase == waits {
		s.wait = s.interval
		return s.interval
	}
	return 0
}

// timeOver notes that the timer has fired. Events that arrived in the rest wait for what is left of the
// interval.
func (s *schedule) timeOver() (alarm time.Duration) {
	if left := s.wait - s.rest(); s.phase == rests && left > 0 {
		s.phase = waits
		return left
	}
	s.phase, s.due = idle, true
	return 0
}

// untilTrigger returns how many events may be added until one must trigger the transport; 0 means
// never.
func (s *schedule) untilTrigger() int {
	switch s.phase {
	case idle:
		return 1
	case rests:
		return 0
	}
	return max(1, s.batch-s.fresh)
}

// triggers reports whether an event that did not count down untilTrigger must trigger the transport.
func (s *schedule) triggers() bool {
	return s.phase == idle || s.phase == waits && s.fresh >= s.batch
}
