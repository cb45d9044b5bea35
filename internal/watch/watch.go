// Package watch lets the transport of package footfalltest see which names the rules of a tracker give to events.
package watch

// Watcher is implemented by a Transport that wants to know the names of rules' events. Its methods are called by
// several goroutines at once.
type Watcher interface {
	// RuleEvent is called with the Event of each rule when the middleware is made, and with the name of each
	// event of a rule before the event is queued.
	RuleEvent(name string)
}
