package retry

import "time"

// Attempts is what has become of the attempts of an event.
type Attempts struct {
	Failures int32     // all of them
	Strikes  int32     // those while others of its kind were accepted
	Last     time.Time // the last failure
	Unsure   time.Time // when it first got a 4xx that may not be the API's, and nothing else since
	Limited  bool      // its answer showed that the API bounds the rate
	Counted  int32     // answers among those for which the kind may be paced
	Slow     bool      // one failed after a long time, while others of its kind were accepted
	AtClose  bool      // the last attempt began when the tracker was closing

	Interrupted bool // an attempt ended early, because other events waited for the sender
	Waived      bool // another one did, although it was to get all its time
}

// suspectAfter is how many strikes make an event a suspect. An API that fails now and then fails
// few events twice.
const suspectAfter = 2

// Failed notes a failed attempt. unsure says that its answer is a 4xx that may not be the API's, and limited that
// it showed that the API bounds the rate.
func (a *Attempts) Failed(unsure, limited bool, now time.Time) {
	switch {
	case !unsure:
		a.Unsure = time.Time{}
	case a.Unsure.IsZero():
		a.Unsure = now
	}
	a.Failures, a.Last, a.Limited = a.Failures+1, now, limited
}

// Suspect reports whether the event keeps failing while others are accepted.
func (a *Attempts) Suspect() bool { return a.Strikes >= suspectAfter }

// Strike notes a failure while others were accepted. A slow failure makes the event a suspect,
// because it kept a sender from them. Strike reports whether the event has become a suspect.
func (a *Attempts) Strike(slow bool) (suspect bool) {
	before := a.Suspect()
	a.Strikes++
	if slow {
		a.Slow = true
		a.Strikes = max(a.Strikes, suspectAfter)
	}
	return a.Suspect() && !before
}

// Interrupt notes that an attempt has ended early; waived says that it was to get all its time. The event
// becomes a suspect, so that it keeps few senders from others, and its next attempts get all their time.
func (a *Attempts) Interrupt(waived bool) {
	a.Interrupted, a.Waived = true, a.Waived || waived
	a.Strikes = max(a.Strikes, suspectAfter)
}
