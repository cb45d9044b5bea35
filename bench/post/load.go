package post

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// load is a running client.
type load interface {
	// answered returns the number of answered events.
	answered() uint64

	// stop ends the client when no request is in flight, and returns the total number of
	// answered events. It returns an error if any event was not accepted.
	stop() (total uint64, err error)
}

// starters holds the clients by name.
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

// order is the task of a client.
type order struct {
	Client   string
	URL      string
	InFlight int
	Warm     time.Duration // before the window
	Window   time.Duration // measured time
}

// result is the result of a client.
type result struct {
	Events  uint64 // answered in the window
	Took    time.Duration
	CPU     time.Duration
	Mallocs uint64
	Total   uint64 // answered in total

	Server time.Duration // CPU of the server per event, set by the runner
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
		CPU:     after.used.CPU - before.used.CPU,
		Mallocs: after.used.Mallocs - before.used.Mallocs,
		Total:   total,
	}, nil
}

// firstAnswer bounds the wait for a client's first answer. Tests set it lower.
var firstAnswer = 3 * time.Second

// begins waits for the first answer, and returns false if none arrives.
func begins(l load) bool {
	for deadline := time.Now().Add(firstAnswer); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if l.answered() > 0 {
			return true
		}
	}
	return false
}

// reading is the progress of a client.
type reading struct {
	at     time.Time
	events uint64
	used   child.Usage
}

func read(l load) reading {
	used := child.Used()
	return reading{time.Now(), l.answered(), used}
}

// run runs a client on its core and returns its result.
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
