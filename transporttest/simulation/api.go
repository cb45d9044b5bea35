package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// api is a model of the Site Analytics API that follows a script. It decides on each request
// and records it for the checks. roundTrip and connection connect it to clients.
type api struct {
	*trace
	script *script

	mu       sync.Mutex
	outages  []spell
	refusals []time.Duration // of connections
	events   []*history      // by number; nil if never tracked
	requests []request
	pauses   []pause
	buckets  []bucket
	settled  time.Duration  // when an event was last settled; negative before
	accepted time.Duration  // when one was last accepted; negative before
	conns    map[*pipe]bool // open on the side of the API
	inFlight int
	peak     int // requests in flight at one time
	problems []problem
}

// spell is an outage that has begun.
type spell struct {
	outage
	from, to time.Duration
}

// request is a record for the checks of rates.
type request struct {
	at    time.Duration
	event int // none if a connection was refused, which carries no event
}

// pause is the effect of a Retry-After.
type pause struct {
	from, lasts time.Duration
	event       int
}

// history records one event.
type history struct {
	event
	tracked  time.Duration
	called   bool // the call has returned, or waits for the API
	accepted bool // it returned nil, or waits
	id, body string
	attempts []attempt
	failed   int // attempts that failed because of the event's fate
	settled  bool
	rejected bool
	at       time.Duration // of the answer that settled it
	takes    int           // times that the API accepted it
	lost     int           // answers to those that did not arrive
}

// attempt is one request for an event.
type attempt struct {
	from, to time.Duration // to is zero while it is under way
	result   result
	status   int      // of an answer that was read
	words    []string // an error about the attempt has one of these; nil if it succeeded
	misread  bool     // the client read bytes that followed another answer as its answer
}

type result uint8

const (
	underWay result = iota
	answered        // the client read the status
	broken          // there was no answer, or none that could be read
	givenUp         // the client disconnected before the answer
)

// reply is the API's reaction to a request.
type reply struct {
	after  time.Duration // hangs forever if negative
	act    act
	status int
	body   string
	retry  time.Duration // Retry-After
	accept bool          // the event is accepted when after is over
	reject bool          // the answer refuses it for good
}

type act uint8

const (
	answer      act = iota
	refuse          // the connection is refused; on an existing connection the same as reset
	reset           // the connection breaks
	cutHeader       // it breaks within the first line of the answer
	cutBody         // it breaks within the body of the answer
	unsolicited     // bytes follow the answer
)

// exchange is a request that is being answered.
type exchange struct {
	h *history
	n int // index of the attempt
	reply
}

const (
	acceptedBody = `{"accepted":true}`
	deniedBody   = `{"accepted":false}`
)

// flood is an excessive number of requests.
const flood = 300_000

// expect records that an event is about to be tracked.
func (a *api) expect(e event) *history {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.events) <= e.n {
		a.events = append(a.events, nil)
	}
	h := &history{event: e, tracked: a.now()}
	a.events[e.n] = h
	return h
}

// eventOf returns the event that a body is of. The caller holds the lock.
func (a *api) eventOf(body string) (*history, error) {
	var sent struct {
		Props struct {
			N    *int
			Fate string
		}
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil || sent.Props.N == nil {
		return nil, fmt.Errorf("a body that no event has: %s", body)
	}
	f, err := parseFate(sent.Props.Fate)
	if err != nil {
		return nil, err
	}
	n := *sent.Props.N
	if n >= len(a.events) || a.events[n] == nil || a.events[n].fate != f {
		return nil, fmt.Errorf("an event that was never tracked: %s", body)
	}
	return a.events[n], nil
}

// addMisread records a request that was sent at a time and is not handled: the client has just read a 408 as the
// answer to it.
func (a *api) addMisread(id, body string, sent time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, err := a.eventOf(body)
	if err != nil {
		return err
	}
	a.compare(h, id, body)
	now := a.now()
	h.attempts = append(h.attempts, attempt{
		from: now - time.Since(sent), to: now, result: answered, status: http.StatusRequestTimeout, words: []string{"answered 408"}, misread: true,
	})
	a.add(h.n, "POST #%d, attempt %d: reads the bytes after another answer", h.n, len(h.attempts))
	return nil
}

// begin records a request for an event and decides on it.
func (a *api) begin(id, body string) (*exchange, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, err := a.eventOf(body)
	if err != nil {
		return nil, err
	}
	now := a.now()
	a.compare(h, id, body)
	x := &exchange{h: h, n: len(h.attempts), reply: a.decide(h, now)}
	if len(a.requests) == flood {
		a.problem("flood", none, "%d requests; no more are answered", flood)
	}
	if len(a.requests) >= flood {
		x.reply = reply{after: -1}
	}
	h.attempts = append(h.attempts, attempt{from: now})
	a.requests = append(a.requests, request{at: now, event: h.n})
	a.inFlight++
	a.peak = max(a.peak, a.inFlight)
	return x, nil
}

// compare checks a request against the first one for the event.
func (a *api) compare(h *history, id, body string) {
	if h.settled {
		a.problem("sent again", h.n, "a request came after the answer that settled the event was read")
	}
	if h.id == "" {
		h.id, h.body = id, body
		for _, other := range a.events {
			if other != nil && other != h && other.id == id && callersID(h.n) != id {
				a.problem("id", h.n, "has the id of #%d", other.n)
			}
		}
	}
	if key := callersID(h.n); key != "" && id != key {
		a.problem("id", h.n, "has the id %s, not its Event.ID %s", id, key)
	}
	if h.id != id || h.body != body {
		a.problem("id", h.n, "an attempt has id %s and body %s, the first had %s and %s", id, body, h.id, h.body)
	}
}

// outage returns the current outage, or nil.
func (a *api) outage(at time.Duration) *spell {
	if n := len(a.outages); n > 0 && at < a.outages[n-1].to {
		return &a.outages[n-1]
	}
	return nil
}

// beginOutage ends the current outage, if any, and begins another.
func (a *api) beginOutage(o outage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if last := a.outage(now); last != nil {
		last.to = now
	}
	a.outages = append(a.outages, spell{outage: o, from: now, to: now + o.lasts})
}

// heal ends the current outage, if any.
func (a *api) heal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.outage(a.now()); last != nil {
		last.to = a.now()
	}
}

// decide returns the reply to a request.
func (a *api) decide(h *history, now time.Duration) reply {
	r := reply{after: a.lag(h), status: 202, body: acceptedBody, accept: true}
	if o := a.outage(now); o != nil {
		return o.reply(r.after)
	}
	if l := a.limit(h.kind, now); l != nil {
		return reply{after: r.after, status: l.status, body: errorBody("limited", l.status), retry: l.retryAfter}
	}
	if h.fate.isSlow() {
		r.after = a.script.config.AttemptTimeout*4/5 - moment/3 // not when the library looks at the clock
	}
	if h.fate.times > h.failed {
		h.failed++
		return a.failure(h.fate, r)
	}
	switch h.fate.kind {
	case Invalid:
		return reply{after: r.after, status: h.fate.status, body: errorBody("invalid", h.fate.status), reject: true}
	case Denied:
		return reply{after: r.after, status: 202, body: deniedBody, reject: true}
	case BodyCut:
		r.act = cutBody
	case Unsolicited:
		r.act = unsolicited
	}
	return r
}

// failure returns the reply to an attempt that fate makes fail.
func (a *api) failure(f fate, r reply) reply {
	switch f.kind {
	case Fails, Poison, SlowFails, Limited, Forbidden:
		return reply{after: r.after, status: f.status, body: errorBody("failed", f.status), retry: time.Duration(f.retryAfter) * time.Second}
	case Hangs:
		return reply{after: -1}
	case Resets:
		return reply{after: r.after, act: reset}
	case AnswerLost:
		return reply{after: r.after, act: reset, accept: true}
	case HeaderCut:
		return reply{after: r.after, act: cutHeader, accept: true}
	}
	return reply{after: -1, accept: true} // AnswerLate
}

func (o *spell) reply(after time.Duration) reply {
	switch o.kind {
	case KeyRefused:
		return reply{after: after, status: 401, body: errorBody("unauthorized", 401)}
	case RateLimit:
		return reply{after: after, status: 429, body: errorBody("slow_down", 429), retry: o.retryAfter}
	case NotAPI:
		return reply{after: after, status: o.status, body: "<html>Welcome</html>"}
	}
	switch o.how {
	case unavailable:
		return reply{after: after, status: 503, body: "unavailable"}
	case silent:
		return reply{after: -1}
	}
	return reply{act: refuse}
}

func errorBody(code string, status int) string {
	return fmt.Sprintf(`{"error":%q,"message":"as the script says","status":%d}`, code, status)
}

// lag returns the delay of an answer, which depends only on the seed, the event and the
// attempt.
func (a *api) lag(h *history) time.Duration {
	r := rand.New(rand.NewPCG(a.script.seed, uint64(h.n)<<16|uint64(len(h.attempts))))
	return time.Duration(float64(a.script.latency) * (0.5 + r.Float64()))
}

// maxLag is the longest lag of an event that neither hangs nor is slow.
func (a *api) maxLag() time.Duration { return a.script.latency * 3 / 2 }

// end records the end of an exchange.
func (a *api) end(x *exchange, how result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, h := a.now(), x.h
	a.inFlight--
	h.attempts[x.n].words = x.words(how)
	h.attempts[x.n].to, h.attempts[x.n].result = now, how
	taken := x.accept && (how != givenUp || x.after < 0)
	if taken {
		h.takes++
	}
	if how != answered {
		if taken {
			h.lost++
		}
		a.add(h.n, "POST #%d, attempt %d: %v", h.n, x.n+1, how)
		return
	}
	h.attempts[x.n].status = x.status
	a.add(h.n, "POST #%d, attempt %d: %d", h.n, x.n+1, x.status)
	again := a.refusedAgain(x)
	x.reject = x.reject || again
	if x.retry > 0 {
		a.pauses = append(a.pauses, pause{now, x.retry, h.n})
	}
	if x.accept || x.reject {
		h.settled, h.at, h.rejected = true, now, x.reject
		if !again { // otherwise it was not the API that answered
			a.settled = now
		}
		if !x.reject {
			a.accepted = now
		}
	}
}

// refusedAgain reports whether the answer is a 4xx without the API's error body, like all for the event in the
// last minute, and the API has accepted another event since the last one. The event is then rejected.
func (a *api) refusedAgain(x *exchange) bool {
	odd := func(status int) bool { return status == 404 }
	if !odd(x.status) || x.act != answer || x.n == 0 || x.body == errorBody("invalid", 404) {
		return false
	}
	first := x.n
	for first > 0 && odd(x.h.attempts[first-1].status) {
		first--
	}
	return first < x.n && x.h.attempts[x.n].to-x.h.attempts[first].to >= time.Minute && a.accepted > x.h.attempts[x.n-1].to
}

func (r result) String() string {
	return [...]string{"under way", "answered", "the connection breaks", "given up by the client"}[r]
}
