// Package footprint measures what an idle SDK costs a program: bytes, modules, goroutines,
// memory, and startup time.
package footprint

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/footfall-dev/footfall/bench/report"
)

// candidate is a program in ./programs.
type candidate struct {
	folder string
	name   string
	module string // module whose version is reported
}

// bare is the baseline.
const bare = "bare"

const footfallModule = "github.com/footfall-dev/footfall"

var candidates = []candidate{
	{bare, "net/http alone", ""},
	{"footfall", "Footfall", footfallModule},
	{"footfallmiddleware", "Footfall middleware", footfallModule},
	{"footfallspool", "Footfall spooled", footfallModule + "/spool"},
	{"footfalllean", "Footfall lean", footfallModule + "/lean"},
	{"segment", "segment", "github.com/segmentio/analytics-go/v3"},
	{"rudder", "rudder", "github.com/rudderlabs/analytics-go/v4"},
	{"posthog", "posthog", "github.com/posthog/posthog-go"},
	{"amplitude", "amplitude", "github.com/amplitude/analytics-go"},
	{"libhoney", "libhoney", "github.com/honeycombio/libhoney-go"},
	{"otellog", "otel log", "go.opentelemetry.io/otel/sdk/log"},
	{"sentrylog", "sentry log", "github.com/getsentry/sentry-go"},
	{"mixpanel", "mixpanel", "github.com/mixpanel/mixpanel-go"},
	{"httpsnoop", "httpsnoop middleware", "github.com/felixge/httpsnoop"},
	{"sentryhttp", "sentryhttp middleware", "github.com/getsentry/sentry-go"},
	{"otelhttp", "otelhttp middleware", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"},
}

// Number of starts, and length of the idle time.
const (
	starts  = 20
	idles   = 3
	idleFor = time.Second
)

// Run runs experiment H. It takes about two minutes, and several more with an empty build
// cache. It ignores the number of rounds.
func Run(ctx context.Context, o report.Options) (report.Section, error) {
	return runAll(ctx, o, candidates, starts, idles)
}

// figures are the results of a program.
type figures struct {
	size, stripped  int64 // bytes
	summed, linked  int   // modules
	start           []float64
	goroutines, rss []float64
}

func runAll(ctx context.Context, o report.Options, all []candidate, starts, idles int) (s report.Section, err error) {
	dir, err := os.MkdirTemp("", "footfall-footprint-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	found := make([]figures, len(all))
	programs := make([]*program, len(all))
	for i, c := range all {
		p, err := build(ctx, dir, c.folder)
		if err != nil {
			return s, fmt.Errorf("footprint: %s: %w", c.name, err)
		}
		programs[i] = p
		if found[i], err = p.weigh(ctx); err != nil {
			return s, fmt.Errorf("footprint: %s: %w", c.name, err)
		}
		o.Log("%s: %d bytes, %d modules in go.sum, %d linked", c.name, found[i].size, found[i].summed, found[i].linked)
	}
	if err := watchStarts(ctx, programs, found, starts); err != nil {
		return s, err
	}
	if err := watchIdling(ctx, programs, found, idles); err != nil {
		return s, err
	}
	versions, err := versions(ctx, all)
	if err != nil {
		return s, err
	}
	return section(all, found, versions, starts, idles), nil
}

// watchStarts starts programs in turn, so that changes of the machine affect all of them.
func watchStarts(ctx context.Context, programs []*program, found []figures, times int) error {
	for range times {
		for i, p := range programs {
			r, err := p.start(ctx)
			if err != nil {
				return err
			}
			found[i].start = append(found[i].start, r.took.Seconds()*1e3)
			r.stop()
		}
	}
	return nil
}

// watchIdling runs all programs at once: idle programs do not disturb each other.
func watchIdling(ctx context.Context, programs []*program, found []figures, times int) error {
	for range times {
		running := make([]*running, 0, len(programs))
		for _, p := range programs {
			r, err := p.start(ctx)
			if err != nil {
				return err
			}
			defer r.stop()
			running = append(running, r)
		}
		time.Sleep(idleFor)
		for i, r := range running {
			idle, err := r.idle()
			if err != nil {
				return err
			}
			found[i].goroutines = append(found[i].goroutines, float64(idle.goroutines))
			found[i].rss = append(found[i].rss, float64(idle.rss)/1024)
			r.stop()
		}
	}
	return nil
}
