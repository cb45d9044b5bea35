// Package post measures one event per POST: how close the transports come to the machine's
// limits, with one core for the client and one for the server.
package post

import (
	"context"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall/bench/report"
)

// inFlights are the measured numbers of requests in flight.
var inFlights = []int{1, 16, 64}

// Each client has several short turns a round, because the machine's speed changes from second
// to second. wrk supports whole seconds only.
const (
	turns  = 3
	window = 500 * time.Millisecond // measured time, after a quarter of it to warm up

	turnsOfWrk  = 2
	windowOfWrk = time.Second
)

// serverNote explains the server's CPU time.
const serverNote = "server CPU: the server's processor time for an event of the lean transport. If it exceeds the client's, the server limits the rates, and they differ less than the clients' costs: the ratio of CPU is then the stricter one."

// cpuNote explains the second ratio.
const cpuNote = "CPU and allocations are per event; CPU is the processor time of the whole client, without its start and end (except for wrk). On an otherwise idle core the ratio of CPU equals the ratio of events; on a busy core it varies less."

const method = "The client is one process on one core, and an API that answers 202 at once is another on the second. " +
	"Footfall always has a backlog, and tracks its events on the same core. " +
	"The clients take turns of %v, in the opposite order every other time, %d each; medians over the turns, a ratio is the median of the ratios of adjacent turns. " +
	"The client's count of answers is checked against the server's."

// Run runs experiment C: the default transport and a bare net/http loop. It takes about 12 s a
// round.
func Run(ctx context.Context, o report.Options) (report.Section, error) {
	o.Rounds *= turns
	return runDefault(ctx, o, window, inFlights)
}

func runDefault(ctx context.Context, o report.Options, window time.Duration, inFlights []int) (s report.Section, err error) {
	f, err := compare(ctx, o, window, cross(inFlights, bareName, footfallName))
	if err != nil {
		return s, err
	}
	t := report.Table{Columns: []string{
		"in flight", "net/http events/s", "Footfall events/s", "ratio", "target",
		"net/http CPU µs", "Footfall CPU µs", "CPU ratio", "net/http allocs", "Footfall allocs",
	}}
	for _, n := range inFlights {
		bare, ours := trial{bareName, n}, trial{footfallName, n}
		t.Rows = append(t.Rows, []any{
			n, f.Median(bare, (*result).perSecond), f.Median(ours, (*result).perSecond), f.Ratio(ours, bare, (*result).perSecond), "≥ 0.95",
			f.Median(bare, (*result).cpu), f.Median(ours, (*result).cpu), f.Ratio(bare, ours, (*result).cpu),
			f.Median(bare, (*result).allocs), f.Median(ours, (*result).allocs),
		})
	}
	return report.Section{
		ID: "C", Title: "One event per POST, default transport", How: fmt.Sprintf(method, window, o.Rounds), Tables: []report.Table{t},
		Notes: append(unpinned(), "net/http: a goroutine for each request in flight, a ready-made body, a new http.Request with the same header for each event, no timeout.", cpuNote),
	}, nil
}

// RunLean runs experiment D: the lean transport, wrk and a raw loop. It takes about 23 s a round.
func RunLean(ctx context.Context, o report.Options) (report.Section, error) {
	o.Rounds *= turnsOfWrk
	return runLean(ctx, o, windowOfWrk, inFlights)
}

func runLean(ctx context.Context, o report.Options, window time.Duration, inFlights []int) (s report.Section, err error) {
	clients := []string{leanName, rawName}
	notes := append(unpinned(), "raw: a goroutine for each connection that writes a ready-made request and reads until the answer is complete.", cpuNote, serverNote)
	if haveWrk() {
		clients = append(clients, wrkName)
		notes = append(notes, "wrk: one thread, the same request formatted once. It stamps no ids and keeps no queue.")
	} else {
		notes = append(notes, "wrk is not installed, so that the ratio to it is missing.")
	}
	f, err := compare(ctx, o, window, cross(inFlights, clients...))
	if err != nil {
		return s, err
	}
	return report.Section{
		ID: "D", Title: "One event per POST, lean transport", How: fmt.Sprintf(method, window, o.Rounds), Tables: []report.Table{leanTable(f, inFlights)}, Notes: notes,
	}, nil
}

func leanTable(f figures, inFlights []int) report.Table {
	t := report.Table{Columns: []string{
		"in flight", "wrk events/s", "raw events/s", "lean events/s", "lean : wrk", "target", "lean : raw",
		"wrk CPU µs", "raw CPU µs", "lean CPU µs", "CPU wrk : lean", "server CPU µs", "lean allocs", "target allocs",
	}}
	for _, n := range inFlights {
		wrk, raw, ours := trial{wrkName, n}, trial{rawName, n}, trial{leanName, n}
		t.Rows = append(t.Rows, []any{
			n, f.Median(wrk, (*result).perSecond), f.Median(raw, (*result).perSecond), f.Median(ours, (*result).perSecond),
			f.Ratio(ours, wrk, (*result).perSecond), "≥ 0.85", f.Ratio(ours, raw, (*result).perSecond),
			f.Median(wrk, (*result).cpu), f.Median(raw, (*result).cpu), f.Median(ours, (*result).cpu),
			f.Ratio(wrk, ours, (*result).cpu), f.Median(ours, (*result).server), f.Median(ours, (*result).allocs), 0,
		})
	}
	return t
}

// cross returns every client with every number of requests in flight, the compared clients
// next to each other.
func cross(inFlights []int, clients ...string) (all []trial) {
	for _, n := range inFlights {
		for _, c := range clients {
			all = append(all, trial{c, n})
		}
	}
	return all
}
