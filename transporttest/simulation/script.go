package simulation

import (
	"fmt"
	"time"

	"github.com/footfall-dev/footfall"
)

// script determines a simulation, except for the scheduler and the library's jitter.
type script struct {
	seed        uint64
	kinds       []Kind          // allowed kinds
	config      footfall.Config // numbers and durations only
	latency     time.Duration   // usual time of an answer
	names       int             // of events
	sites       int             // that have them
	apart       scope           // the events that may fail
	limits      []limit
	steps       []step
	closeAtOnce bool          // Close is called right after the last step
	closing     time.Duration // deadline of Close
}

// scope is a set of kinds of events.
type scope uint8

const (
	anyKind scope = iota
	oneKind       // kind 0
	oneSite       // the kinds of site 0
	butOne        // all but the last kind
)

// mayFail reports whether events of a kind may have a fate.
func (s *script) mayFail(kind int) bool {
	if len(s.limits) > 0 {
		return len(s.limitsOf(kind)) > 0
	}
	switch s.apart {
	case oneKind:
		return kind == 0
	case oneSite:
		return kind%s.sites == 0
	case butOne:
		return kind < s.names*s.sites-1
	}
	return true
}

// step is an action of the application or the API at a time.
type step struct {
	at       time.Duration // since the beginning
	do       action
	events   []event       // of track and durable
	callers  int           // goroutines that share the events of track
	gap      time.Duration // between two events of a caller
	deadline time.Duration // of durable and flush
	outage   outage        // of fail
}

type action uint8

const (
	track   action = iota // Track and TrackEvent
	durable               // TrackDurable, on a goroutine for each event
	flush                 // Flush, on another goroutine
	invalid               // Track with an event that it must refuse
	fail                  // the API stops working for a while
)

// event is an event that a caller tracks.
type event struct {
	n    int // unique in the script
	kind int // site and name
	fate fate
	pad  int // size of a prop that only takes room
}

// outage is a time when the API accepts nothing.
type outage struct {
	kind       Kind
	lasts      time.Duration
	how        failing       // of Outage
	status     int           // of NotAPI
	retryAfter time.Duration // of RateLimit
}

type failing uint8

const (
	refusing    failing = iota // connections
	unavailable                // 503
	silent                     // no answer
)

// prefix returns the script of the first n steps.
func (s script) prefix(n int) script {
	s.steps = s.steps[:n]
	return s
}

func (s *step) String() string {
	switch s.do {
	case track:
		return fmt.Sprintf("track %s by %d callers, one every %v", span(s.events), s.callers, s.gap)
	case durable:
		return fmt.Sprintf("track %s durably within %v", span(s.events), s.deadline)
	case flush:
		return fmt.Sprintf("flush within %v", s.deadline)
	case invalid:
		return "track a bad event"
	}
	return s.outage.String()
}

// span formats the first and the last number of events.
func span(events []event) string {
	first, last := events[0].n, events[len(events)-1].n
	if first == last {
		return fmt.Sprintf("#%d", first)
	}
	return fmt.Sprintf("#%d to #%d", first, last)
}

func (o outage) String() string {
	switch o.kind {
	case Outage:
		return fmt.Sprintf("the API %s for %v", [...]string{"refuses connections", "answers 503", "does not answer"}[o.how], o.lasts)
	case KeyRefused:
		return fmt.Sprintf("the API answers 401 for %v", o.lasts)
	case RateLimit:
		return fmt.Sprintf("the API answers 429 with Retry-After %v for %v", o.retryAfter, o.lasts)
	}
	return fmt.Sprintf("something else answers %d for %v", o.status, o.lasts)
}
