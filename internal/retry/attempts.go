package retry

// Attempts counts the attempts of an event that failed.
type Attempts struct {
	Failures int32  // all of them
	Strikes  int32  // those while the API settled other events
	Passes   uint64 // answers that had settled an event, at the last failure
	AtClose  bool   // handed out when the tracker was closing
	Again    bool   // handed out more than once when the tracker was closing
}

// suspectAfter is how many strikes make an event a suspect. An API that fails now and then fails
// few events twice.
const suspectAfter = 2

// Suspect reports whether the event keeps failing while others are accepted.
func (a *Attempts) Suspect() bool { return a.Strikes >= suspectAfter }

// HandOut notes that the event is handed out while the tracker closes.
func (a *Attempts) HandOut() { a.AtClose, a.Again = true, a.AtClose }

// Strike notes a failure while the API settled other events. A slow failure makes the event a
// suspect, because it kept a sender from them. Strike reports whether the event has become a
// suspect.
func (a *Attempts) Strike(slow bool) (suspect bool) {
	before := a.Suspect()
	a.Strikes++
	if slow {
		a.Strikes = max(a.Strikes, suspectAfter)
	}
	return a.Suspect() && !before
}
