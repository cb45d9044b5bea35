package post

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// load is a client at work.
type load interface {
	// answered is how many events have got their answer.
	answered() uint64

	// stop returns when no request is under way or will be, with how many events got
	// their answer in all. An error means that not all of them were accepted.
	stop() (total uint64, err error)
}

// starters have a client for each name that a child is told.
var starters = map[string]func(*order) (load, error){
	bareName:     startBare,
	footfallName: startFootfall,
	leanName:     startLean,
	rawName:      startRaw,
}

const (
	bareName     = "net/http"
	footfallName = "Footfall"
	leanName     = "Footfall lean"
	rawName      = "raw"
	wrkName      = "wrk"
)

// order is what a client is told to do.
type order struct {
	Client   string
	URL      string
	InFlight int
	Warm     time.Duration // before anything is counted
	Window   time.Duration // in which everything is
}

// result is what a client did.
type result struct {
	Events  uint64 // answered in the window
	Took    time.Duration
	CPU     time.Duration
	Mallocs uint64
	Total   uint64 // answered in its life

	Server time.Duration // CPU of the server per event, as the runner finds it
}

func (r *result) perSecond() float64 { return float64(r.Events) / r.Took.Seconds() }
func (r *result) cpu() float64       { return float64(r.CPU.Nanoseconds()) / float64(r.Events) / 1e3 }
func (r *result) server() float64    { return float64(r.Server.Nanoseconds()) / 1e3 }
func (r *result) allocs() float64    { return float64(r.Mallocs) / float64(r.Events) }

const role = "client"

func init() {
	child.Handle(role, func(o order, p *child.Parent) error {
		r, err := obey(&o)
		if err != nil {
			return err
		}
		return p.Say(r)
	})
}

func obey(o *order) (*result, error) {
	start := starters[o.Client]
	if start == nil {
		return nil, fmt.Errorf("post: no client named %q", o.Client)
	}
	l, err := start(o)
	if err != nil {
		return nil, err
	}
	if !begins(l) {
		_, err := l.stop()
		return nil, cmp.Or(err, errors.New("post: not one event was answered"))
	}
	time.Sleep(o.Warm)
	before := read(l)
	time.Sleep(o.Window)
	after := read(l)
	total, err := l.stop()
	if err != nil {
		return nil, err
	}
	if after.events == before.events {
		return nil, fmt.Errorf("post: no event was answered in %v", o.Window)
	}
	return &result{
		Events:  after.events - before.events,
		Took:    after.at.Sub(before.at),
		CPU:     after.cpu - before.cpu,
		Mallocs: after.mallocs - before.mallocs,
		Total:   total,
	}, nil
}

// firstAnswer is how long a client may take to get one. Tests are less patient.
var firstAnswer = 3 * time.Second

// begins waits for the first answer. It is false if none comes.
func begins(l load) bool {
	for deadline := time.Now().Add(firstAnswer); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if l.answered() > 0 {
			return true
		}
	}
	return false
}

// reading is how far a client is.
type reading struct {
	at      time.Time
	events  uint64
	cpu     time.Duration
	mallocs uint64
}

func read(l load) reading {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reading{time.Now(), l.answered(), child.CPU(), m.Mallocs}
}

// run starts a client on its core and returns what it did.
func run(ctx context.Context, o *order) (*result, error) {
	p, err := child.Start(ctx, role, clientCore, o)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	var r result
	err = p.Hear(o.Warm+o.Window+30*time.Second, &r)
	return &r, err
}
