package retry

// Attempts is what became of an event's attempts.
type Attempts struct {
	Failures int32  // attempts that failed
	Strikes  int32  // of those, while the API settled others
	Passes   uint64 // how many events the API had settled at the last failure
	AtClose  bool   // handed out when the tracker was closing
	Again    bool   // for the second time at least
}

// suspectAfter is how often an event has failed while others were accepted when it is a
// suspect. An API that fails now and then fails few events twice.
const suspectAfter = 2

// Suspect reports whether the event keeps failing while others are accepted.
func (a *Attempts) Suspect() bool { return a.Strikes >= suspectAfter }

// HandOut notes that the event is handed out while the tracker closes.
func (a *Attempts) HandOut() { a.AtClose, a.Again = true, a.AtClose }

// Strike notes a failure while the API settled others. A failure that was slow counts twice:
// it has cost the others a request for that time. It reports whether the event is a suspect
// from now on.
func (a *Attempts) Strike(slow bool) (suspect bool) {
	before := a.Suspect()
	a.Strikes++
	if slow {
		a.Strikes = max(a.Strikes, suspectAfter)
	}
	return a.Suspect() && !before
}
