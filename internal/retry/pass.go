package retry

import "time"

// Class is what the answer to a failed attempt means for the events that wait.
type Class uint8

const (
	Later  Class = iota // retry later
	BadKey              // the API refuses the key: hold everything
	NotAPI              // the server is not the API: hold everything
)

// Failure is a failed attempt.
type Failure struct {
	Attempts               // of the event, without this one
	Class    Class         // of the answer
	Asked    time.Duration // by Retry-After
	TooMany  bool          // the answer's status is 429
	Err      error
}

// Admission is what the breaker lets a sender do.
type Admission uint8

const (
	Nothing   Admission = iota
	Anything            // any request, because the breaker is closed
	Probe               // one request, with any event
	NewsProbe           // one request, with an event that was accepted after Pass.Since
)

// Pass is an admission. A sender reports the answer to its request with it.
type Pass struct {
	Admission
	turn       uint64
	RetryFirst bool      // the probe should be a retry
	Since      time.Time // for NewsProbe; zero for any event that was never sent
	Passes     uint64    // answers so far that settled an event
	overlaps   bool      // another probe is in flight
}
