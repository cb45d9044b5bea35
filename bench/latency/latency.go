// Package latency measures delivery to a distant API: events a second and connections.
package latency

import (
	"context"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/report"
)

// situation is the distance of an API and the load.
type situation struct {
	name     string
	delay    time.Duration
	inFlight int // Config.MaxInFlight; zero for the default
	rate     int // events a second; zero for more than the API can take

	// targets; zero if there is none
	atLeast     float64 // events a second
	connections int     // at most
}

var situations = []situation{
	{name: "defaults", delay: 25 * time.Millisecond, atLeast: 2_000},
	{name: "defaults", delay: 100 * time.Millisecond},
	{name: "MaxInFlight 256", delay: 20 * time.Millisecond, inFlight: 256, atLeast: 10_000},
	{name: "defaults", delay: 25 * time.Millisecond, rate: 20, connections: 4},
	{name: "defaults", delay: 100 * time.Millisecond, rate: 20, connections: 4},
}

// Warm-up and window of each situation. A slow one sends a batch a second, and the window
// must contain several.
const (
	warm   = time.Second
	window = 3 * time.Second
)

// Run runs experiment E. It takes about 20 s a round.
func Run(ctx context.Context, o report.Options) (report.Section, error) {
	return runAll(ctx, o, situations, warm, window)
}

func runAll(ctx context.Context, o report.Options, all []situation, warm, window time.Duration) (s report.Section, err error) {
	found := make([][]*outcome, len(all))
	for range o.Rounds {
		for i := range all {
			got, err := all[i].run(ctx, warm, window)
			if err != nil {
				return s, fmt.Errorf("latency: %s at %v: %w", all[i].name, all[i].delay, err)
			}
			o.Log("%s at %v, %s: %.0f events/s, %d in flight, %d connections", all[i].name, all[i].delay, all[i].offered(), got.perSecond, got.inFlight, got.connections)
			found[i] = append(found[i], got)
		}
	}
	return report.Section{
		ID: "E", Title: "A distant API",
		How: fmt.Sprintf("A server in a separate process answers each request after a delay. Footfall always has a backlog, or gets %d events a second; "+
			"after %v the server's answers are counted for %v. Medians over the rounds; requests in flight and connections are the maximum of all rounds.", slow, warm, window),
		Tables: []report.Table{table(all, found)},
		Notes: []string{
			"ceiling: MaxInFlight divided by the delay, which no client with that many requests in flight exceeds.",
			"connections: accepted by the server from its start to the end of the count. An event that Track or the API refuses ends the run with an error, and so does an event of the 20 a second that is never delivered.",
		},
	}, nil
}

// slow is a rate for which few connections are expected.
const slow = 20

func table(all []situation, found [][]*outcome) report.Table {
	t := report.Table{Columns: []string{
		"configuration", "delay ms", "offered", "delivered events/s", "target", "ceiling", "in flight", "connections", "target connections",
	}}
	for i := range all {
		s := &all[i]
		var most outcome
		var rates []float64
		for _, o := range found[i] {
			rates = append(rates, o.perSecond)
			most.inFlight = max(most.inFlight, o.inFlight)
			most.connections = max(most.connections, o.connections)
		}
		t.Rows = append(t.Rows, []any{
			s.name, int(s.delay.Milliseconds()), s.offered(), s.delivered(rates), report.Bound("≥", s.atLeast), s.ceiling(),
			most.inFlight, most.connections, report.Bound("≤", float64(s.connections)),
		})
	}
	return t
}

func (s *situation) offered() string {
	if s.rate == 0 {
		return "a backlog"
	}
	return fmt.Sprintf("%d/s", s.rate)
}

// delivered returns nil if everything offered is delivered: the window then cuts batches at
// random.
func (s *situation) delivered(rates []float64) any {
	if s.rate > 0 {
		return nil
	}
	return report.Median(rates)
}

// ceiling returns nil if the offered rate is the lower bound.
func (s *situation) ceiling() any {
	if s.rate > 0 {
		return nil
	}
	most := s.inFlight
	if most == 0 {
		most = defaultInFlight
	}
	return float64(most) / s.delay.Seconds()
}

// defaultInFlight is the documented default of footfall.Config.
const defaultInFlight = 64

func (s *situation) config(url string) footfall.Config {
	return footfall.Config{
		BaseURL: url, APIKey: "test-key", SiteID: "site_1", DefaultURL: "https://shop.example.com/checkout", MaxInFlight: s.inFlight,
	}
}
