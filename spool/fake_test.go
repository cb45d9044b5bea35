package spool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

// api is a Next that a test controls. It takes events when it is up, or when the tracker
// closes, and settles them with its answer.
type api struct {
	mu     sync.Mutex
	up     bool
	answer func(n int, r footfall.Record) (footfall.Outcome, error)
	got    []string // bodies in order of arrival
	ids    []string
	change chan struct{}
}

func newAPI(up bool) *api {
	return &api{up: up, change: make(chan struct{})}
}

var errRefused = errors.New("refused")

func (a *api) set(up bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up = up
	close(a.change)
	a.change = make(chan struct{})
}

func (a *api) Deliver(ctx context.Context, src *footfall.Source) { a.deliver(ctx, src) }

// source has the methods of footfall.Source that api uses.
type source interface {
	Wait(ctx context.Context) (waiting int, ok bool)
	Take(dst []footfall.Record) int
	Settle(records []footfall.Record, o footfall.Outcome, err error)
	Closing() <-chan struct{}
}

func (a *api) deliver(ctx context.Context, src source) {
	some := make([]footfall.Record, 32)
	for {
		if !a.ready(ctx, src) {
			return
		}
		if _, ok := src.Wait(ctx); !ok {
			return
		}
		if !a.ready(ctx, src) {
			return
		}
		for n := src.Take(some); n > 0; n = src.Take(some) {
			a.settle(src, some[:n])
			if !a.isUp() && ctx.Err() == nil && !closed(src.Closing()) {
				break
			}
		}
	}
}

func (a *api) isUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.up
}

// ready waits until the API is up or ctx ends.
func (a *api) ready(ctx context.Context, src source) bool {
	for {
		a.mu.Lock()
		up, change := a.up, a.change
		a.mu.Unlock()
		if up {
			return true
		}
		select {
		case <-change:
		case <-src.Closing():
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (a *api) settle(src source, records []footfall.Record) {
	for i := range records {
		o, err := a.take(records[i])
		src.Settle(records[i:i+1], o, err)
	}
}

func (a *api) take(r footfall.Record) (footfall.Outcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.up {
		return footfall.OutcomeLost, errRefused
	}
	o, err := footfall.OutcomeDelivered, error(nil)
	if a.answer != nil {
		o, err = a.answer(len(a.got), r)
	}
	a.got = append(a.got, string(r.Body))
	a.ids = append(a.ids, r.IdempotencyKey())
	return o, err
}

func (a *api) bodies() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.got...)
}

func (a *api) keys() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.ids...)
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// config is a short name for spool.Config.
type config = spool.Config

// spooled is a tracker with its spool.
type spooled struct {
	t *testing.T
	*footfall.Tracker
	spool *spool.Spool
	log   *footfalltest.Log
}

// open starts a tracker on dir, which is closed when the test ends.
func open(t *testing.T, dir string, next footfall.Transport, change ...func(*footfall.Config, *spool.Config)) *spooled {
	t.Helper()
	s := &spooled{t: t, log: &footfalltest.Log{}}
	logger := slog.New(slog.NewTextHandler(s.log, nil))
	tc := footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/", FlushInterval: 10 * time.Millisecond, Logger: logger}
	sc := spool.Config{Dir: dir, Next: next, Logger: logger}
	for _, c := range change {
		c(&tc, &sc)
	}
	var err error
	s.Tracker, s.spool, err = spool.Open(tc, sc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.end() })
	return s
}

// end closes the tracker, with plenty of time.
func (s *spooled) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return s.Close(ctx)
}

// track tracks events numbered from up to to.
func (s *spooled) track(from, to int) {
	s.t.Helper()
	for n := from; n < to; n++ {
		require.NoError(s.t, s.TrackEvent(context.Background(), paid(n)))
	}
}

// paid is the event numbered n. A quarter of the events has an Event.ID, two of them the same.
func paid(n int) footfall.Event {
	e := footfall.Event{Name: "order_paid", Props: []footfall.Prop{footfall.P("n", n)}}
	if n%4 == 1 {
		e.ID = fmt.Sprint("evt_", n/8)
	}
	return e
}

// keep tracks events, the last of them durably, so that all are in the file.
func (s *spooled) keep(from, to int) {
	s.t.Helper()
	s.track(from, to-1)
	require.NoError(s.t, s.TrackDurable(s.t.Context(), paid(to-1)))
}

func (s *spooled) flush() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(s.t, s.Flush(ctx))
}

// balanced fails unless every event is in exactly one counter.
func (s *spooled) balanced() {
	s.t.Helper()
	got := s.Stats()
	require.Equal(s.t, got.Tracked, got.Delivered+got.Rejected+got.Dropped+got.Stored+got.Queued, "%+v", got)
}

// numbered returns the bodies of events numbered from up to to.
func numbered(from, to int) (bodies []string) {
	for n := from; n < to; n++ {
		bodies = append(bodies, body(n))
	}
	return bodies
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, 20*time.Second, 2*time.Millisecond, what)
}

// files returns the names in a directory that match.
func files(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	return found
}

// theFile returns the one file of events in a directory.
func theFile(t *testing.T, dir string) string {
	t.Helper()
	found := files(t, dir, "events-*.db")
	require.Len(t, found, 1)
	return found[0]
}

func body(n int) string {
	return `{"site_id":"site_1","name":"order_paid","url":"https://shop.example.com/","props":{"n":` + strconv.Itoa(n) + `}}`
}
