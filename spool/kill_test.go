package spool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

// victimDir is the environment variable that makes this binary run as a victim. victimAPI makes it
// run as one that calls Track at victimRate.
const (
	victimDir   = "FOOTFALL_TEST_SPOOL_DIR"
	victimFirst = "FOOTFALL_TEST_SPOOL_FIRST"
	victimAPI   = "FOOTFALL_TEST_SPOOL_API"
	victimRate  = "FOOTFALL_TEST_SPOOL_RATE"
)

// victim tracks numbered events and prints the number of each event that is safe, until it is
// killed. Every second event is delivered meanwhile.
func victim(dir, first string) {
	from, _ := strconv.Atoi(first)
	next := newAPI(true)
	next.answer = func(n int, _ footfall.Record) (footfall.Outcome, error) {
		if n%2 == 0 {
			return footfall.OutcomeLost, errRefused
		}
		return footfall.OutcomeRejected, nil // so that the file has ended records
	}
	tracker, _, err := spool.Open(
		footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/"},
		spool.Config{Dir: dir, Next: lossy{next}, Shared: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	var last atomic.Int64
	last.Store(int64(from))
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				n := last.Add(1)
				if err := tracker.TrackDurable(context.Background(), paid(int(n))); err != nil {
					fmt.Println(err)
					return
				}
				_, _ = os.Stdout.WriteString(strconv.FormatInt(n, 10) + "\n")
			}
		})
	}
	callers.Wait()
}

// lossy prints events that have ended, because they are no longer in the file.
type lossy struct{ *api }

func (l lossy) Deliver(ctx context.Context, src *footfall.Source) {
	l.api.deliver(ctx, printing{src})
}

type printing struct{ *footfall.Source }

func (p printing) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	if o == footfall.OutcomeRejected {
		_, _ = os.Stdout.WriteString("ended " + string(records[0].Body) + "\n")
	}
	p.Source.Settle(records, o, err)
}

func TestTrackDurableEventsSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	safe := make(map[string]bool)
	for round := range 25 {
		for _, line := range kill(t, dir, round*1_000_000, rand.N(80*time.Millisecond)) {
			if ended, ok := strings.CutPrefix(line, "ended "); ok {
				safe[ended] = false
			} else {
				n, err := strconv.Atoi(line)
				require.NoError(t, err, "the victim said %q", line)
				if _, known := safe[body(n)]; !known {
					safe[body(n)] = true
				}
			}
		}
	}
	next := newAPI(true)
	s := open(t, dir, next)
	eventually(t, "all files adopted", func() bool { return len(files(t, dir, "events-*.db")) == 1 })
	s.flush()
	came := make(map[string]int)
	for _, b := range next.bodies() {
		came[b]++
	}
	kept := 0
	for b, waits := range safe {
		if waits {
			kept++
			require.Equal(t, 1, came[b], b)
		}
	}
	assert.NotZero(t, kept)
	assert.Empty(t, files(t, dir, "*.corrupt-*"), "a kill damages nothing")
	assert.Zero(t, s.log.Lines(slog.LevelError), s.log)
	t.Logf("%d events were safe and not delivered before 25 kills", kept)
}

// kill runs a victim, kills it some time after its first line, and returns its lines.
func kill(t *testing.T, dir string, first int, after time.Duration, more ...string) (lines []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), victimDir+"="+dir, victimFirst+"="+strconv.Itoa(first)), more...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		if len(lines) == 0 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		lines = append(lines, line[:len(line)-1])
	}
	assert.Error(t, cmd.Wait(), "it did not end by itself")
	return lines
}

// tracks calls Track at a rate and prints the number of each event that was accepted, until it is
// killed.
func tracks(dir, api, first, rate string) {
	n, _ := strconv.Atoi(first)
	perSecond, _ := strconv.Atoi(rate)
	tracker, _, err := spool.Open(
		footfall.Config{BaseURL: api, APIKey: "key", SiteID: "site_1", DefaultURL: "https://shop.example.com/"},
		spool.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Now()
	for tracked := 0; ; time.Sleep(time.Millisecond) {
		for due := int(time.Since(start).Seconds() * float64(perSecond)); tracked <= due; tracked++ {
			n++
			if err := tracker.TrackEvent(context.Background(), paid(n)); err != nil {
				fmt.Println(err)
				return
			}
			_, _ = os.Stdout.WriteString(strconv.Itoa(n) + "\n") // a write, which a kill does not undo
		}
	}
}

// ledger is an API that notes which events arrived, and how often.
type ledger struct {
	mu   sync.Mutex
	came map[int]map[string]int // requests by number and Idempotency-Key
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e struct{ Props struct{ N int } }
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := l.came[e.Props.N]
	if keys == nil {
		keys = make(map[string]int)
		l.came[e.Props.N] = keys
	}
	keys[r.Header.Get("Idempotency-Key")]++
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write([]byte(`{"accepted":true}`))
}

func TestTrackedEventsSurviveAKill(t *testing.T) {
	if !spool.MapsQueues {
		t.Skip("the queue is on the heap on this system")
	}
	for _, rate := range []int{100, 10_000} {
		t.Run(strconv.Itoa(rate)+" events a second", func(t *testing.T) {
			t.Parallel()
			trackAndKill(t, rate, trackKills)
		})
	}
}

func trackAndKill(t *testing.T, rate, kills int) {
	api := &ledger{came: make(map[int]map[string]int)}
	server := httptest.NewServer(api)
	defer server.Close()
	dir := t.TempDir()
	var accepted []int
	for round := range kills {
		lines := kill(t, dir, round*1_000_000, rand.N(trackLife), victimAPI+"="+server.URL, victimRate+"="+strconv.Itoa(rate))
		for _, line := range lines {
			n, err := strconv.Atoi(line)
			require.NoError(t, err, "the victim said %q", line)
			accepted = append(accepted, n)
		}
	}
	next, err := footfall.NewHTTPTransport(footfall.Config{BaseURL: server.URL, APIKey: "key"})
	require.NoError(t, err)
	s := open(t, dir, next)
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.end())
	assert.Empty(t, files(t, dir, "queue-*"), "all queues are recovered")
	assert.Empty(t, files(t, dir, "*.corrupt-*"), "a kill damages nothing")
	assert.Zero(t, s.spool.Stats().Corrupt)
	assert.Zero(t, s.log.Lines(slog.LevelWarn), s.log)
	api.check(t, accepted, kills)
}

func (l *ledger) check(t *testing.T, accepted []int, kills int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost, again := 0, 0
	for _, n := range accepted {
		if len(l.came[n]) == 0 {
			lost++
		}
	}
	for n, keys := range l.came {
		assert.Len(t, keys, 1, "event %d has several ids", n)
		for _, times := range keys {
			again += times - 1
		}
	}
	assert.Zero(t, lost, "of %d events", len(accepted))
	assert.NotEmpty(t, accepted)
	t.Logf("%d kills: %d events accepted, %d lost, %d requests repeated with the same key", kills, len(accepted), lost, again)
}
