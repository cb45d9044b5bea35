// Package simulation tries to break the promises of footfall: it makes up applications,
// APIs and outages from random numbers, runs them in the fake time of testing/synctest and
// holds what happens to the promises. The tests of a transport call [Run]:
//
//	func TestSimulation(t *testing.T) { simulation.Run(t, simulation.Options{}) }
//
// # A simulation
//
// A seed becomes a script (generate.go): the Config of a tracker, steps of the application
// (bursts, trickles, silence, TrackDurable, Flush) and of the API (outages of several
// kinds), and a fate for each event (fate.go): accepted, answered by 5xx once, some times
// or for ever, refused by a firewall, never answered, accepted by an API whose answer is
// lost, and so on. At the end either the API works for long enough and Close is called, or
// Close is called in the middle of everything, with any deadline.
//
// The API (api.go) is a model that decides about each request and remembers it. It is put
// behind a tracker as an http.RoundTripper (roundtrip.go) or as an HTTP/1.1 server on
// connections in memory (connection.go, pipe.go).
//
// # What is checked
//
// While a script runs, every reading of Stats must add up, stay in the bounds of the queue
// and agree with what the API and the callers know (check.go). What TrackDurable, Flush
// (waiting.go) and Close (close.go) return must be true. Afterwards the history of each
// event is checked: accepted once, counted once, one id and one body on all attempts, in
// order where order is promised (check.go), not asked too often during outages (rates.go),
// and delivered in time, whatever other events do (liveness.go).
//
// Each check is a rule with a short name, which the output begins with.
//
// # When one fails
//
// The output has the seed, the shortest prefix of the script's steps that still fails, and
// the last things that happened. One simulation runs again with
//
//	go test ./transporttest/simulation -run TestSimulation -sim.seed=123
//
// The script is the same then. Scheduling and the library's own jitter are not, so a
// failure that needs them may take some runs: -sim.runs=20. More flags: -sim.seeds=50000
// runs that many, -sim.only=poison,earlyclose lets nothing else go wrong, -sim.event=17
// prints all that happened to an event.
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

// Options say what is simulated.
type Options struct {
	// Open starts the tracker that is tested. Defaults to footfall.New with
	// Env.Config.
	Open func(Env) (*footfall.Tracker, error)

	// Seeds is the number of simulations. Defaults to 300. The flag -sim.seeds
	// overrides it.
	Seeds int

	// Wire puts the API behind connections in memory, on which it also does what no
	// http.RoundTripper can. Transports that do not use Config.HTTPClient need it.
	Wire bool

	// Store says that the tracker keeps events in files below Env.Dir which Close could
	// not deliver. A second tracker is then opened on them.
	Store bool

	// Slack is what an event may take longer because of a stage between the queue and
	// the API.
	Slack time.Duration

	// Without lists what does not go wrong.
	Without []Kind
}

// Env is what a tracker is opened with.
type Env struct {
	// Config is ready for footfall.New. Its HTTPClient leads to the API.
	Config footfall.Config

	// Dial connects to the API, whatever the address. It counts only if Options.Wire is
	// set.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Dir is an empty directory, or has what the first tracker of a simulation has left.
	Dir string
}

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "run the simulation of this seed only")
	seedsFlag = flag.Int("sim.seeds", 0, "run so many simulations")
	runsFlag  = flag.Int("sim.runs", 1, "run each simulation so often")
	onlyFlag  = flag.String("sim.only", "", "let only these kinds of things go wrong, separated by commas")
	eventFlag = flag.Int("sim.event", none, "print all that happened to this event")
	linesFlag = flag.Int("sim.lines", 40, "print so many of the last things that happened")
)

// simulate runs a script in a bubble and returns what came of it. A goroutine that waits
// for ever is a problem, too.
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
