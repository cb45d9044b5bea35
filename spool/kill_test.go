package spool_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

// victimDir is the environment variable that makes this binary run as a victim.
const victimDir = "FOOTFALL_TEST_SPOOL_DIR"

// victim tracks numbered events and prints the number of each event that is safe, until it is
// killed. Every second event is delivered meanwhile.
func victim(dir, first string) {
	from, _ := strconv.Atoi(first)
	next := newAPI(true)
	next.answer = func(n int, _ footfall.Record) (footfall.Outcome, error) {
		if n%2 == 0 {
			return footfall.Lost, errRefused
		}
		return footfall.Rejected, nil // so that the file has ended records
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
				if err := tracker.TrackDurable(context.Background(), paid(n)); err != nil {
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
	if o == footfall.Rejected {
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
func kill(t *testing.T, dir string, first int, after time.Duration) (lines []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, "FOOTFALL_TEST_SPOOL_FIRST="+strconv.Itoa(first))
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
