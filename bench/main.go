package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/footfall-dev/footfall/bench/caller"
	"github.com/footfall-dev/footfall/bench/footprint"
	"github.com/footfall-dev/footfall/bench/growth"
	"github.com/footfall-dev/footfall/bench/latency"
	"github.com/footfall-dev/footfall/bench/middleware"
	"github.com/footfall-dev/footfall/bench/outage"
	"github.com/footfall-dev/footfall/bench/peers"
	"github.com/footfall-dev/footfall/bench/post"
	"github.com/footfall-dev/footfall/bench/report"
)

// experiment is a section of the results.
type experiment struct {
	id  string
	run func(context.Context, report.Options) (report.Section, error)
}

var experiments = []experiment{
	{"A1", caller.RunAlone},
	{"A2", caller.RunSustained},
	{"B", middleware.Run},
	{"C", post.Run},
	{"D", post.RunLean},
	{"E", latency.Run},
	{"F", growth.Run},
	{"G", outage.Run},
	{"H", footprint.Run},
}

var quick = []string{"A1", "A2", "B", "C"}

// others are further modules whose versions the results name.
var others = []string{
	"github.com/felixge/httpsnoop",
	"github.com/footfall-dev/footfall/lean",
	"go.etcd.io/bbolt",
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp",
}

func main() {
	log.SetFlags(log.Ltime)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal("bench: ", err)
	}
}

// settings are the command line.
type settings struct {
	ids    []string
	rounds int
	out    string // where results are written; nowhere if empty
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	fast := flags.Bool("quick", false, "run "+strings.Join(quick, ", ")+" alone, in fewer rounds, and write no files")
	only := flags.String("only", "", "run these experiments alone, such as A1,G")
	flags.IntVar(&s.rounds, "rounds", 0, "how often each figure is taken (default 5, with -quick 3)")
	flags.StringVar(&s.out, "out", "", "directory for RESULTS.md and results.json (default . for a whole run, otherwise none)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	return s, s.complete(*fast, *only)
}

func (s *settings) complete(fast bool, only string) error {
	for _, e := range experiments {
		s.ids = append(s.ids, e.id)
	}
	known := s.ids
	switch {
	case only != "":
		s.ids = strings.Split(only, ",")
	case fast:
		s.ids = quick
	case s.out == "":
		s.out = "."
	}
	for _, id := range s.ids {
		if !slices.Contains(known, id) {
			return fmt.Errorf("-only: there is no experiment %q; there are %s", id, strings.Join(known, ", "))
		}
	}
	if s.rounds < 0 {
		return fmt.Errorf("-rounds: %d is less than one", s.rounds)
	}
	if s.rounds == 0 {
		s.rounds = 5
		if fast {
			s.rounds = 3
		}
	}
	return nil
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	results := report.New(s.rounds, modules())
	results.Missing = peers.Missing()
	failed := runAll(ctx, s, results)
	if err := results.Markdown(os.Stdout); err != nil {
		return err
	}
	if failed != nil || s.out == "" {
		return failed
	}
	return results.Write(s.out)
}

// runAll runs the experiments that s names, in the order of the results. If one fails, the
// others still run.
func runAll(ctx context.Context, s settings, results *report.Results) error {
	var failures []error
	for _, e := range experiments {
		if !slices.Contains(s.ids, e.id) || ctx.Err() != nil {
			continue
		}
		start := time.Now()
		section, err := e.run(ctx, report.Options{Rounds: s.rounds, Log: log.Printf})
		log.Printf("%s: took %v", e.id, time.Since(start).Round(time.Second))
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", e.id, err))
			continue
		}
		results.Sections = append(results.Sections, section)
	}
	return errors.Join(append(failures, ctx.Err())...)
}

func modules() []string {
	wanted := slices.Clone(others)
	for _, peer := range peers.All() {
		wanted = append(wanted, peer.Module)
	}
	return wanted
}
