package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// Environment variables that make the test binary run as a victim.
const (
	victimFile = "FOOTFALL_TEST_VICTIM_FILE"
	victimDay  = "FOOTFALL_TEST_VICTIM_DAY"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(victimFile); file != "" {
		victim(file, os.Getenv(victimDay))
		return
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // tests wait for the disk more than they compute
	os.Exit(m.Run())
}

// victim adds numbered events and prints the number of each acknowledged one, until it is
// killed.
func victim(file, day string) {
	days, _ := strconv.Atoi(day)
	s, err := sqlite.Open(context.Background(), sqlite.Config{File: file})
	if err != nil {
		fmt.Println(err)
		return
	}
	var last atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for {
				e := numbered(int(last.Add(1)))
				e.At, e.Key = begin.AddDate(0, 0, days), day+" "+e.Name
				if _, err := s.Add(context.Background(), e); err != nil {
					fmt.Println(err)
					return
				}
				_, _ = os.Stdout.WriteString(e.Name + "\n") // one write for each line
			}
		})
	}
	callers.Wait()
}

func TestEveryAcknowledgedEventSurvivesAKill(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	rng := rand.New(rand.NewPCG(9, 9))
	total := 0
	for round := range 30 {
		acknowledged := kill(t, file, round, time.Duration(rng.IntN(120))*time.Millisecond)
		total += len(acknowledged)
		s := open(t, file, nil)
		stored := make(map[string]int)
		day := begin.AddDate(0, 0, round)
		require.NoError(t, s.Export(t.Context(), store.Query{Site: "s", From: day, To: day.AddDate(0, 0, 1)}, func(e store.Event) error {
			stored[e.Name]++
			return nil
		}))
		for _, number := range acknowledged {
			require.Equal(t, 1, stored[number], "round %d: event %s", round, number)
		}
		require.NoError(t, s.Close())
		checkIntegrity(t, file)
	}
	assert.NotZero(t, total)
	t.Logf("%d events were acknowledged before 30 kills", total)
}

// kill runs a victim, kills it after a delay, and returns the acknowledged events.
func kill(t *testing.T, file string, round int, after time.Duration) (acknowledged []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimFile+"="+file, victimDay+"="+strconv.Itoa(round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	kill := func() { time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) }
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		if len(acknowledged) == 0 {
			kill() // the delay starts with the first event
		}
		number := line[:len(line)-1]
		_, err = strconv.Atoi(number)
		require.NoError(t, err, "the victim said %q", number)
		acknowledged = append(acknowledged, number)
	}
	assert.Error(t, cmd.Wait(), "it did not end by itself")
	return acknowledged
}

func checkIntegrity(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var result string
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&result))
	require.Equal(t, "ok", result)
}
