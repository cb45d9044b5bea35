package retry

import "time"

// streak is what has failed in a scope since the scope last accepted an event. It is a value; its
// methods return the next one.
type streak struct {
	accepted time.Time // zero if the scope never accepted an event
	began    time.Time // when the first attempt failed
	err      error     // of the latest failed attempt
	fresh    int       // events whose first attempt has failed
	again    int       // further attempts that have failed
	longest  int       // most events that failed between two acceptances; decays
	child    uint64    // the kind or site that all of them belong to
	several  bool      // they belong to several
	reopens  bool      // the scope has accepted one event only since its breaker was open
}

const (
	// fewFailures is how many failed attempts say nothing about other events.
	fewFailures = 5

	// manyFailures is how many events in a row may fail while the scope accepts one a second.
	manyFailures = 100

	// reopenFailures is manyFailures for a scope that has accepted one event only since its breaker
	// was open: the event may have been an exception.
	reopenFailures = 4 * fewFailures

	// refusedKeys is manyFailures for answers of 401, which are hardly ever about an event. Of a
	// scope with events of several kinds or sites it takes twice as many.
	refusedKeys = 5

	// recently is how long an acceptance shows that the scope accepts events. It is longer than a
	// second, so that one event a second suffices.
	recently = 2 * time.Second

	// lately is recently for a scope where events have failed between two acceptances before.
	lately = 10 * time.Second

	// longAgo is how long a scope must not have accepted an event for a Retry-After to concern all of it.
	longAgo = 30 * time.Second
)

// add counts an attempt of an event of child that failed at now. An attempt that takes long counts
// more, because it has kept a sender from other events.
func (s streak) add(f *Failure, child uint64, now time.Time) streak {
	if s.began.IsZero() {
		s.began = now
	}
	s.err = f.Err
	s.several = s.several || s.fresh+s.again > 0 && child != s.child
	s.child = child
	weight := 1 + int(f.Took/time.Second)
	if f.First {
		s.fresh += weight
	} else {
		s.again += weight
	}
	return s
}

// end returns the streak after an event was accepted. It learns how many events may fail between two
// that are accepted: as many as in this row, but no more than most.
func (s streak) end(now time.Time, limit int) streak {
	return streak{accepted: now, longest: max(s.longest-(s.longest+63)/64, min(s.fresh, limit))}
}

// exceeds reports whether too much has failed for events of the scope to be sent as before. While
// the scope goes on accepting events, only a long row of different events counts: failed attempts
// of an event that has failed before tell nothing new.
func (s streak) exceeds(now time.Time, c Class) bool {
	known := 8 * s.longest
	switch since := now.Sub(s.accepted); {
	case s.accepted.IsZero(), since > lately:
		return s.fresh+s.again >= fewFailures
	case since > recently:
		return s.fresh+s.again > max(fewFailures-1, known)
	case c == KeyRefused && !s.several:
		return s.fresh > max(refusedKeys-1, known)
	case c == KeyRefused:
		return s.fresh > max(2*refusedKeys-1, known)
	}
	if s.reopens {
		return s.fresh+s.again > max(reopenFailures, known)
	}
	return s.fresh > max(manyFailures, known)
}
