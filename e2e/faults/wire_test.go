//go:build ci && linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

// ills are the faults of a wire. A toxic may affect some connections only, while others
// work.
var ills = []struct{ name, toxic string }{
	{"latency", `{"type":"latency","attributes":{"latency":150}}`},
	{"latency beyond the timeout of attempts", `{"type":"latency","toxicity":0.5,"attributes":{"latency":900}}`},
	{"jitter", `{"type":"latency","attributes":{"latency":80,"jitter":80}}`},
	{"connections reset at once", `{"type":"reset_peer","toxicity":0.5,"stream":"upstream","attributes":{"timeout":0}}`},
	{"connections reset before the answer", `{"type":"reset_peer","toxicity":0.5,"attributes":{"timeout":20}}`},
	{"connections that close slowly", `{"type":"slow_close","attributes":{"delay":300}}`},
	{"a narrow band for requests", `{"type":"bandwidth","stream":"upstream","attributes":{"rate":20}}`},
	{"a narrow band for answers", `{"type":"bandwidth","attributes":{"rate":10}}`},
	{"requests that vanish", `{"type":"timeout","toxicity":0.5,"stream":"upstream","attributes":{"timeout":0}}`},
	{"answers that vanish", `{"type":"timeout","toxicity":0.5,"attributes":{"timeout":0}}`},
	{"answers that vanish until the connection closes", `{"type":"timeout","attributes":{"timeout":60}}`},
	{"requests cut off", `{"type":"limit_data","stream":"upstream","attributes":{"bytes":1000}}`},
	{"answers cut off", `{"type":"limit_data","attributes":{"bytes":500}}`},
	{"bytes that drip", `{"type":"slicer","attributes":{"average_size":20,"size_variation":10,"delay":2000}}`},
	{"nobody there", ""},
}

const (
	wireCallers  = 4
	wireEvents   = 240
	wireInFlight = 8
	wireTimeout  = 500 * time.Millisecond // of an attempt
)

// way is one of the ways from Track to the API.
type way struct {
	name string
	open func(t *testing.T, cfg footfall.Config, dir string) *footfall.Tracker
	own  int // number of goroutines while it is open
}

var ways = []way{
	{"HTTP", openHTTP, 1},
	{"spool", openSpooled, 3},
}

func openHTTP(t *testing.T, cfg footfall.Config, _ string) *footfall.Tracker {
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	return tracker
}

func openSpooled(t *testing.T, cfg footfall.Config, dir string) *footfall.Tracker {
	tracker, _, err := spool.Open(cfg, spool.Config{Dir: dir, Logger: cfg.Logger})
	require.NoError(t, err)
	return tracker
}

// eachWay runs a test for each ill and way. No other test runs at the same time, because a
// goroutine profile stops the process.
func eachWay(t *testing.T, test func(t *testing.T, toxic string, w way)) {
	for _, ill := range ills {
		for _, w := range ways {
			t.Run(ill.name+" with "+w.name, func(t *testing.T) {
				t.Parallel()
				test(t, ill.toxic, w)
			})
		}
	}
}

func wireConfig(url string) footfall.Config {
	return footfall.Config{
		BaseURL: url, APIKey: footfalltest.Key, SiteID: footfalltest.SiteID, DefaultURL: "https://example.com/",
		FlushInterval: 10 * time.Millisecond, MaxInFlight: wireInFlight, AttemptTimeout: wireTimeout,
		BackoffMin: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond,
		ProbeMin: 5 * time.Millisecond, ProbeMax: 50 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	}
}

func TestAcceptedEventsArriveOnceInSpiteOfNetworkFaults(t *testing.T) {
	eachWay(t, func(t *testing.T, toxic string, by way) {
		api := footfalltest.NewAPI(t)
		w := newWire(t, api.URL)
		w.fallIll(t, toxic)
		var tracker *footfall.Tracker
		watch := watchGoroutines(t, func() { tracker = by.open(t, wireConfig(w.URL), t.TempDir()) })
		promised := trackFrom(t, tracker, wireEvents)
		if toxic == "" {
			assert.Empty(t, api.Events(), "that all calls are over shows that none waited for the wire")
		}
		w.heal(t)
		require.NoError(t, within(patience, tracker.Flush))
		require.NoError(t, within(patience, tracker.Close))
		assertArrived(t, api, promised)
		repeated := assertOneKeyAndBody(t, api)
		assert.Len(t, api.Events(), wireEvents)
		assert.Equal(t, uint64(wireEvents), tracker.Stats().Delivered)
		most := watch()
		assert.LessOrEqual(t, most.of[ownGoroutine], by.own, most.profile[ownGoroutine])
		assert.LessOrEqual(t, most.of[sender], wireInFlight, most.profile[sender])
		assert.LessOrEqual(t, most.of[lineOfLog], goroutinesOfLog, most.profile[lineOfLog])
		assert.LessOrEqual(t, most.of[connection], wireInFlight*goroutinesPerConnection*2, most.profile[connection])
		t.Logf("%d sent again; at most %v", repeated, most)
	})
}

// goroutinesOfLog is the most goroutines that write lines: two for the transport's log, two for
// the spool's log, and one for the last line of the transport.
const goroutinesOfLog = 5

// goroutinesPerConnection is the number of net/http's goroutines for a connection. They may
// outlive the connection briefly.
const goroutinesPerConnection = 2

// trackFrom tracks events from several goroutines, some milliseconds apart, while the wire
// is ill, and returns their numbers.
func trackFrom(t *testing.T, tracker *footfall.Tracker, events int) (promised []int64) {
	t.Helper()
	var callers sync.WaitGroup
	var number atomic.Int64
	for range wireCallers {
		callers.Go(func() {
			tick := time.NewTicker(4 * time.Millisecond)
			defer tick.Stop()
			for range events / wireCallers {
				<-tick.C
				assert.NoError(t, tracker.Track(t.Context(), "spoilt", footfall.P("n", number.Add(1))))
			}
		})
	}
	callers.Wait()
	return slices.Collect(numbers(events))
}

func within(d time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return call(ctx)
}

// watchGoroutines runs start and counts the goroutines that it starts, directly or not,
// until most is called. most returns the peak. A goroutine inherits the label of the
// goroutine that started it.
func watchGoroutines(t *testing.T, start func()) (most func() goroutines) {
	t.Helper()
	pprof.Do(t.Context(), pprof.Labels("tracker", t.Name()), func(context.Context) { start() })
	w := watcher{label: strconv.Quote(t.Name()), stop: make(chan struct{}), stopped: make(chan struct{})}
	go w.run()
	return func() goroutines {
		close(w.stop)
		<-w.stopped
		return w.most
	}
}

// kind is what a goroutine of a tracker is for.
type kind int

const (
	ownGoroutine kind = iota // as long as the tracker is open
	sender                   // with an event
	idleSender               // takes its first event, or found none and ends; another sender may already have its slot
	lineOfLog                // writes a line of the log
	connection               // of net/http
	kinds
)

var kindNames = [kinds]string{"own", "senders", "idle senders", "of the log", "of connections"}

// kindOf returns the kind of a group of a profile. Goroutines that timers start are in none of
// the groups, because they have no labels.
func kindOf(group string) kind {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(group, part) })
	}
	switch {
	case !has("footfall-dev/footfall"), isConnections(group):
		return connection
	case has("(*httpTransport).deliver+"):
		return sender
	case has("(*httpTransport).send+"):
		return idleSender
	case has("/safelog.", "(*reporter).close.func"):
		return lineOfLog
	}
	return ownGoroutine
}

// goroutines counts a tracker's goroutines by kind. It has a profile of each kind at its peak.
type goroutines struct {
	of      [kinds]int
	profile [kinds]string
}

func (g goroutines) String() string {
	var parts []string
	for k, n := range g.of {
		parts = append(parts, fmt.Sprint(n, " ", kindNames[k]))
	}
	return strings.Join(parts, ", ")
}

// watcher counts the goroutines of a label.
type watcher struct {
	label         string
	most          goroutines
	stop, stopped chan struct{}
}

func (w *watcher) run() {
	defer close(w.stopped)
	tick := time.NewTicker(200 * time.Millisecond) // a profile is expensive
	defer tick.Stop()
	for {
		now := labelled(w.label)
		for k, n := range now.of {
			if n > w.most.of[k] {
				w.most.of[k], w.most.profile[k] = n, now.profile[k]
			}
		}
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
	}
}

// labelled counts the goroutines that have a label. The profile has them in groups, which
// begin with their number.
func labelled(label string) (g goroutines) {
	for group := range strings.SplitSeq(goroutineProfile(1), "\n\n") {
		if !strings.Contains(group, label) {
			continue
		}
		count, _, _ := strings.Cut(group, " ")
		n, _ := strconv.Atoi(count) // of digits
		k := kindOf(group)
		g.of[k] += n
		g.profile[k] += group + "\n\n"
	}
	return g
}

// isConnections reports whether goroutines belong to a connection of net/http, or dial one.
// They may read through a net.Conn of footfall.
func isConnections(group string) bool {
	for _, f := range []string{"(*persistConn).readLoop+", "(*persistConn).writeLoop+", "(*Transport).dialConnFor+"} {
		if strings.Contains(group, f) {
			return true
		}
	}
	return false
}

func TestCloseKeepsItsDeadlineInSpiteOfNetworkFaults(t *testing.T) {
	eachWay(t, func(t *testing.T, toxic string, by way) {
		api := footfalltest.NewAPI(t)
		w := newWire(t, api.URL)
		w.fallIll(t, toxic)
		dir := t.TempDir()
		tracker := by.open(t, wireConfig(w.URL), dir)
		promised := trackFrom(t, tracker, wireEvents/4)
		began := time.Now()
		err := within(wireTimeout, tracker.Close)
		took := time.Since(began)
		assert.Less(t, took, wireTimeout+closeSlack)
		assertAccount(t, err, tracker.Stats(), by)
		assertOneKeyAndBody(t, api)
		if by.name != "HTTP" {
			assertRestIsDelivered(t, api, dir, promised)
		}
		t.Logf("took %v: %+v", took.Round(time.Millisecond), tracker.Stats())
	})
}

// closeSlack is the time that a busy machine may take to wake a goroutine.
const closeSlack = 500 * time.Millisecond

// assertAccount asserts that the counters add up and agree with the error of Close.
func assertAccount(t *testing.T, err error, s footfall.Stats, by way) {
	t.Helper()
	assert.Equal(t, s.Tracked, s.Delivered+s.Dropped+s.Stored)
	if by.name != "HTTP" {
		assert.NoError(t, err)
		assert.Zero(t, s.Dropped)
		return
	}
	if s.Dropped == 0 {
		assert.NoError(t, err)
		return
	}
	account, ok := errors.AsType[*footfall.CloseError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, s.Dropped, account.Lost)
}

// assertRestIsDelivered opens the directory again and delivers without faults.
func assertRestIsDelivered(t *testing.T, api *footfalltest.API, dir string, promised []int64) {
	t.Helper()
	tracker := openWhenFree(t, wireConfig(api.URL), dir)
	require.NoError(t, within(patience, tracker.Flush))
	require.NoError(t, within(patience, tracker.Close))
	assert.Len(t, api.Events(), len(promised))
	assertArrived(t, api, promised)
	assertOneKeyAndBody(t, api)
}

// openWhenFree is openSpooled for a directory that the previous tracker may not have
// released yet: Close does not wait for that after its deadline.
func openWhenFree(t *testing.T, cfg footfall.Config, dir string) (tracker *footfall.Tracker) {
	t.Helper()
	require.Eventually(t, func() (free bool) {
		var err error
		tracker, _, err = spool.Open(cfg, spool.Config{Dir: dir, Logger: cfg.Logger})
		return err == nil
	}, time.Second, time.Millisecond)
	return tracker
}
