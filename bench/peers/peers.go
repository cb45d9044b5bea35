// Package peers sets up the measured SDKs as their READMEs advise, and decodes their requests.
package peers

import (
	"context"
	"errors"
	"net/http"
)

// Client is an SDK that is ready to track events. It is safe for concurrent use.
//
// If the SDK has a documented way to report accepted events that it gave up, the Client has a
// method Lost() int with their number. If it reports errors without a number of events, the
// Client has a method Complaints() int with the number of errors.
type Client interface {
	// Track tracks the event of all experiments: checkout_completed, with the props plan (a
	// string), amount (an int), currency (a string) and rate (a float), and a fifth, n, unless n
	// is zero. It returns the SDK's error.
	Track(n int) error

	// Flush makes the SDK send its events. It returns ErrNoFlush at once if the SDK cannot be
	// flushed.
	Flush(ctx context.Context) error

	// Close closes the SDK as its README advises. It may take longer than ctx if the SDK has no
	// deadline.
	Close(ctx context.Context) error
}

// ErrNoFlush is returned by Flush for an SDK that cannot be flushed.
var ErrNoFlush = errors.New("peers: this SDK cannot be flushed")

// Peer is one SDK.
type Peer struct {
	Name    string // usual name
	Module  string // Go module, whose version is in go.mod
	Setting string // configuration; the notes below tables show it

	// Synchronous says that Track returns after the server's answer.
	Synchronous bool

	// Fixed describes a bound of the SDK that Setup.Queue cannot change, and its effect. Empty
	// if Setup.Queue is the bound.
	Fixed string

	// Open starts the SDK for a server at url, such as http://127.0.0.1:1234, with its default
	// bounds and batching.
	Open func(url string) (Client, error)

	// OpenWith is like Open, with changes for an experiment.
	OpenWith func(Setup) (Client, error)

	// Decode returns the n of each event in a request of the SDK, or zero for events without
	// one.
	Decode func(r *http.Request, body []byte) (ns []int, err error)

	// Answer writes the SDK's answer for success.
	Answer func(w http.ResponseWriter)
}

// Setup is the part of an SDK's configuration that experiments change.
type Setup struct {
	URL       string            // of the server
	Transport http.RoundTripper // receives the requests; nil for the SDK's default
	Queue     int               // bound of the waiting events, if the SDK has one; 0 for its default
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

// Missing returns the SDKs that are not measured, with reasons.
func Missing() []string {
	return []string{
		"snowplow-golang-tracker v3.1.0 is not measured: its emitter starts and reads its send channel without a lock, so it cannot be called from several goroutines.",
		"apitally-go is not measured: the module proxy refuses it: the latest, each of seven versions from v0.1.0 to v0.13.0, v1.0.0, and the chi module of v0.10.2.",
		"rudder is v4.2.1, the newest that could be verified: the checksum database does not have the newer v4.2.2 and v4.2.3.",
	}
}

// do calls f, which takes no context, and stops waiting when ctx ends.
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
