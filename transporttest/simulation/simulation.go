// Package simulation tries to break the promises of footfall. It generates applications, APIs
// and outages from random numbers, runs them in the fake time of testing/synctest and checks
// the promises. The test of a transport calls [Run]:
//
//	func TestSimulation(t *testing.T) { simulation.Run(t, simulation.Options{}) }
//
// # A simulation
//
// A seed becomes a script (generate.go): the Config of a tracker, steps of the application
// (bursts, trickles, silence, TrackDurable, Flush) and of the API (several kinds of outages), up to
// five names of events on up to three sites, and a fate for each event (fate.go): accepted, answered
// by 5xx or with Retry-After once, several times or forever, at once or late, refused by a firewall,
// never answered, accepted without an answer, and so on. Up to 99 of 100 events fail, of all kinds, of
// one kind or of one site. Some scripts have an API that bounds the rate, or that is away for some kinds or
// sites (limits.go). At the end either the API works for long enough before Close, or Close is called at any moment with
// any deadline.
//
// The API (api.go) is a model that decides on each request and records it. Trackers reach it
// through an http.RoundTripper (roundtrip.go) or as an HTTP/1.1 server on connections in memory
// (connection.go, pipe.go).
//
// # Checks
//
// While a script runs, every reading of Stats must add up, stay within the bounds of the queue
// and agree with what the API and the callers know (check.go). The results of TrackDurable,
// Flush (waiting.go) and Close (close.go) must be true. Afterwards the history of each event is
// checked: accepted once, counted once, one id and one body in all attempts, in order where
// order is promised (check.go), not too many requests in outages (rates.go), and delivered in
// time, whatever other events do (liveness.go, limits.go).
//
// Each check is a rule with a short name, which begins its output.
//
// # Failures
//
// The output has the seed, the shortest prefix of the script that still fails, and the last
// lines of the trace. To run one simulation again:
//
//	go test ./transporttest/simulation -run TestSimulation -sim.seed=123
//
// The script is then the same. Scheduling and the library's jitter are not, so a failure may
// need several runs: -sim.runs=20. Other flags: -sim.seeds=50000 runs that many seeds,
// -sim.first=50001 begins with another one, -sim.only=poison,earlyclose allows only these kinds, and
// -sim.event=17 prints the trace of an event.
package simulation

import (
	"context"
	"flag"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
)

// Options configures [Run].
type Options struct {
	// Open opens the tracker under test. Defaults to footfall.New with Env.Config.
	Open func(Env) (*footfall.Tracker, error)

	// Seeds is the number of simulations, a third of it with -short. Defaults to 300. The flag
	// -sim.seeds overrides it.
	Seeds int

	// Wire connects the API by connections in memory, which also allows failures that an
	// http.RoundTripper cannot cause. Required for transports that ignore Config.HTTPClient.
	Wire bool

	// Store says that the tracker stores events that Close could not deliver below Env.Dir. A
	// second tracker is then opened on them.
	Store bool

	// Slack is extra time for an event, because of a stage between the queue and the API.
	Slack time.Duration

	// Without lists kinds of failures to leave out.
	Without []Kind
}

// Env is the environment of a tracker.
type Env struct {
	// Config is ready for footfall.New. Its HTTPClient reaches the API.
	Config footfall.Config

	// Dial connects to the API, with any address. Set only with Options.Wire.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Dir is an empty directory, or contains the files of the first tracker.
	Dir string
}

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "run the simulation of this seed only")
	firstFlag = flag.Uint64("sim.first", 1, "begin with the simulation of this seed")
	seedsFlag = flag.Int("sim.seeds", 0, "run so many simulations")
	runsFlag  = flag.Int("sim.runs", 1, "run each simulation so often")
	onlyFlag  = flag.String("sim.only", "", "let only these kinds of things go wrong, separated by commas")
	eventFlag = flag.Int("sim.event", none, "print all that happened to this event")
	linesFlag = flag.Int("sim.lines", 40, "print so many of the last things that happened")
)

// simulate runs a script in a bubble and returns the result. A deadlock is a problem, too.
func simulate(t *testing.T, s script, o *Options) (r *run) {
	dir := ""
	if o.Store {
		var err error
		if dir, err = os.MkdirTemp("", "simulation"); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
	}
	defer func() {
		if v := recover(); v != nil {
			r = panicked(r, v)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		r = newRun(s, o, dir)
		r.execute()
	})
	return r
}
