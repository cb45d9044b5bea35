// Package peers is the SDKs that are measured, each set up as its README advises, and
// what they send to.
package peers

import (
	"context"
	"errors"
	"net/http"
)

// Client is an SDK that is ready to take events. Its methods may be called from several
// goroutines at once.
//
// A Client whose SDK has a documented way to tell its user of events that it took and
// gave up has a method Lost() int besides, which is how many it told of; one that tells of
// errors without a number of events has Complaints() int, the number of errors.
type Client interface {
	// Track hands the SDK the event of all experiments: checkout_completed, with the
	// props plan (a string), amount (an int), currency (a string) and rate (a float),
	// and, if n is not zero, a fifth, n. The error is what the SDK said to its caller.
	Track(n int) error

	// Flush asks the SDK to send what it has. It returns ErrNoFlush at once if the SDK
	// cannot be asked.
	Flush(ctx context.Context) error

	// Close ends the SDK as its README advises. It may take longer than ctx if the SDK
	// knows no deadline.
	Close(ctx context.Context) error
}

// ErrNoFlush is returned by Flush for an SDK that sends when it sees fit.
var ErrNoFlush = errors.New("peers: this SDK cannot be flushed")

// Peer is one SDK.
type Peer struct {
	Name    string // as its users call it
	Module  string // Go module, whose version is that of go.mod
	Setting string // how it is configured, for the foot of a table

	// Synchronous says that Track returns when the server has answered.
	Synchronous bool

	// Fixed says that the SDK bounds what it holds where Setup.Queue cannot reach, and
	// what becomes of events beyond. Empty if Setup.Queue is the bound.
	Fixed string

	// Open starts the SDK towards a server at url, such as http://127.0.0.1:1234, with
	// its default bounds and batching.
	Open func(url string) (Client, error)

	// OpenWith is Open with what an experiment has to change.
	OpenWith func(Setup) (Client, error)

	// Decode returns the n of each event in a request that the SDK sent, which is
	// zero for events without one.
	Decode func(r *http.Request, body []byte) (ns []int, err error)

	// Answer answers as the SDK's real server does on success.
	Answer func(w http.ResponseWriter)
}

// Setup is what experiments change of an SDK's configuration.
type Setup struct {
	URL       string            // of the server
	Transport http.RoundTripper // takes the requests. Nil is the SDK's own.
	Queue     int               // events that may wait, where the SDK has such a bound. 0 is its default.
}

// All returns the peers in the order of the tables, Footfall first.
func All() []Peer {
	all := []Peer{
		footfallPeer(), spooledPeer(),
		segmentPeer(), rudderPeer(), posthogPeer(), amplitudePeer(), libhoneyPeer(), otelPeer(), sentryPeer(), mixpanelPeer(),
	}
	for i := range all {
		all[i].Open = func(url string) (Client, error) { return all[i].OpenWith(Setup{URL: url}) }
	}
	return all
}

// Missing says which SDKs are not measured, and why.
func Missing() []string {
	return []string{
		"snowplow-golang-tracker v3.1.0 is not measured: its emitter starts and reads its send channel without a lock, so that it cannot be called from several goroutines.",
		"apitally-go is not measured: the module proxy refuses it: the latest, each of seven versions from v0.1.0 to v0.13.0, v1.0.0, and the chi module of v0.10.2.",
		"rudder is v4.2.1, the newest that could be verified: the checksum database does not know the newer v4.2.2 and v4.2.3.",
	}
}

// do runs what knows no context, and gives up waiting for it when ctx ends.
func do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
