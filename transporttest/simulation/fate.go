package simulation

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is a kind of failure in a simulation.
type Kind string

// Kinds for single events. A prop of each event carries its kind, so that the API needs no
// other state and traces are readable.
const (
	Slow        Kind = "slow"        // answered late, but within the attempt's timeout
	Fails       Kind = "fails"       // refused by a 5xx, 408 or 425 a number of times, then accepted
	Poison      Kind = "poison"      // answered by a 5xx forever
	SlowFails   Kind = "slowfails"   // refused late, by a 5xx, a number of times or forever
	Limited     Kind = "limited"     // refused with Retry-After a number of times or forever, as by a quota
	Forbidden   Kind = "forbidden"   // answered by 403 forever, as by a firewall that dislikes the event
	Invalid     Kind = "invalid"     // rejected by a 4xx
	Denied      Kind = "denied"      // rejected by 202 {"accepted":false}
	Hangs       Kind = "hangs"       // not answered a number of times, or forever
	Resets      Kind = "resets"      // the connection breaks, and the event is not accepted
	AnswerLost  Kind = "answerlost"  // accepted, but the connection breaks before the answer
	AnswerLate  Kind = "answerlate"  // accepted, but the attempt times out before the answer
	HeaderCut   Kind = "headercut"   // accepted, but the answer ends within its first line
	BodyCut     Kind = "bodycut"     // accepted, and the answer's body ends too soon
	Unsolicited Kind = "unsolicited" // accepted, and more bytes follow the answer; only on the wire
	good        Kind = "good"
)

// Kinds for the whole API for some time.
const (
	Outage     Kind = "outage"     // connections are refused, or requests get 503 or no answer
	KeyRefused Kind = "keyrefused" // 401
	RateLimit  Kind = "ratelimit"  // 429 with Retry-After
	NotAPI     Kind = "notapi"     // something else answers at the address
)

// Kinds for the whole API, or for some kinds of events or sites.
const (
	Quota Kind = "quota" // the API bounds the rate
	Away  Kind = "away"  // it answers 429 or 503 for some time, perhaps with Retry-After
)

// Kinds for the application.
const (
	EarlyClose Kind = "earlyclose" // Close is called in the middle of everything
	SmallQueue Kind = "smallqueue" // a queue of few events or bytes
)

var (
	eventKinds  = []Kind{Slow, Fails, Poison, SlowFails, Limited, Forbidden, Invalid, Denied, Hangs, Resets, AnswerLost, AnswerLate, HeaderCut, BodyCut}
	outageKinds = []Kind{Outage, KeyRefused, RateLimit, NotAPI}
	limitKinds  = []Kind{Quota, Away}
	otherKinds  = []Kind{EarlyClose, SmallQueue}
)

// fate is how the API treats one event while it works.
type fate struct {
	kind       Kind
	status     int // of the answers that refuse it
	times      int // attempts that fail before one is accepted; forever if none is
	retryAfter int // seconds of Retry-After in those answers
}

const forever = 1 << 30

// String returns the form that parseFate reads.
func (f fate) String() string {
	s := string(f.kind)
	if f.status != 0 {
		s += fmt.Sprintf(":%d", f.status)
	}
	if f.retryAfter != 0 {
		s += fmt.Sprintf("~%d", f.retryAfter)
	}
	switch f.times {
	case 0:
	case forever:
		s += "*"
	default:
		s += fmt.Sprintf("*%d", f.times)
	}
	return s
}

func parseFate(s string) (f fate, err error) {
	s, times, repeated := strings.Cut(s, "*")
	if repeated && times == "" {
		f.times = forever
	} else if repeated {
		if f.times, err = strconv.Atoi(times); err != nil {
			return f, err
		}
	}
	s, retryAfter, limited := strings.Cut(s, "~")
	if limited {
		if f.retryAfter, err = strconv.Atoi(retryAfter); err != nil {
			return f, err
		}
	}
	kind, status, answered := strings.Cut(s, ":")
	if answered {
		f.status, err = strconv.Atoi(status)
	}
	f.kind = Kind(kind)
	return f, err
}

// settlesAtOnce reports whether the first attempt that reaches a working API settles the
// event.
func (f fate) settlesAtOnce() bool { return f.times == 0 }

// settles reports whether the API settles the event at all.
func (f fate) settles() bool { return f.times != forever }

// isSlow reports whether answers to the event are late.
func (f fate) isSlow() bool { return f.kind == Slow || f.kind == SlowFails }

// hangs reports whether attempts of the event last until they time out.
func (f fate) hangs() bool { return f.kind == Hangs || f.kind == AnswerLate }
