// Package footfalltest helps applications test what they track.
//
// [New] returns a tracker that keeps its events in memory, for tests of handlers:
//
//	tracker := footfalltest.New(t)
//	handler := newServer(tracker.Tracker)
//	// … make a request …
//	events := tracker.Events()
//
// [Tracker.OnlyDefined] makes the test fail if an event has a name that neither a definition of package event nor a
// rule of the tracker has.
//
// [NewAPI] returns a stand-in for the Site Analytics API on a real socket, whose
// answers a test chooses: an outage, a refused key, a connection that breaks.
//
// The package imports the standard library and the root module only.
package footfalltest
