//go:build ci

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

const killRounds = 30

func TestEveryAcceptedEventSurvivesAKill(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "footfall-collector")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../collector/cmd/footfall-collector").CombinedOutput()
	require.NoError(t, err, string(built))
	load := numberedEvents{accepted: make(map[string]bool)}
	dir := t.TempDir()
	load.site, load.key = accountIn(t, dir)
	for range killRounds {
		killWhileLoaded(t, exec.Command(binary, "-listen", "127.0.0.1:0", "-data", dir), &load)
	}
	require.Greater(t, len(load.accepted), killRounds)
	t.Logf("%d events were accepted in %d rounds", len(load.accepted), killRounds)
	stored := namesIn(t, dir, load.site)
	for name := range load.accepted {
		assert.Equal(t, 1, stored[name], name)
	}
}

func openStore(t *testing.T, dir string) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(dir, "footfall.db")})
	require.NoError(t, err)
	return st
}

// accountIn makes a site and a key in the data of a collector that does not run.
func accountIn(t *testing.T, dir string) (site, key string) {
	t.Helper()
	st := openStore(t, dir)
	acc, err := account.Open(t.Context(), st)
	require.NoError(t, err)
	s, err := acc.AddSite(t.Context(), "", "shop.example.com")
	require.NoError(t, err)
	key, _, err = acc.IssueKey(t.Context(), "load")
	require.NoError(t, err)
	require.NoError(t, st.Close())
	return s.ID, key
}

func namesIn(t *testing.T, dir, site string) map[string]int {
	t.Helper()
	st := openStore(t, dir)
	names := make(map[string]int)
	q := store.Query{Site: site, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
	require.NoError(t, st.Export(t.Context(), q, func(e store.Event) error {
		names[e.Name]++
		return nil
	}))
	require.NoError(t, st.Close())
	return names
}

var serves = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// killWhileLoaded starts a collector and kills it at a random moment while events come in.
func killWhileLoaded(t *testing.T, collector *exec.Cmd, load *numberedEvents) {
	t.Helper()
	collector.Stderr = t.Output()
	out, err := collector.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, collector.Start())
	lines := bufio.NewScanner(out)
	address := ""
	for address == "" && lines.Scan() {
		address = serves.FindString(lines.Text())
	}
	require.NotEmpty(t, address)
	ctx, stop := context.WithCancel(t.Context())
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		load.send(ctx, address)
	}()
	time.Sleep(20*time.Millisecond + rand.N(200*time.Millisecond))
	require.NoError(t, collector.Process.Kill()) // SIGKILL
	_, _ = io.Copy(io.Discard, out)
	_ = collector.Wait() // it was killed
	stop()
	<-sent
}

// numberedEvents sends events with different names and keeps the names that were answered
// with 202.
type numberedEvents struct {
	site, key string
	next      atomic.Int64
	mu        sync.Mutex
	accepted  map[string]bool
}

// send posts on sixteen connections until ctx ends.
func (n *numberedEvents) send(ctx context.Context, address string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var posters sync.WaitGroup
	for range 16 {
		posters.Go(func() {
			for ctx.Err() == nil {
				name := fmt.Sprintf("event_%d", n.next.Add(1))
				if !n.post(ctx, client, address, name) {
					return
				}
				n.mu.Lock()
				n.accepted[name] = true
				n.mu.Unlock()
			}
		})
	}
	posters.Wait()
}

func (n *numberedEvents) post(ctx context.Context, client *http.Client, address, name string) bool {
	body := fmt.Sprintf(`{"site_id":%q,"name":%q,"url":"https://shop.example.com/"}`, n.site, name)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/events", strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+n.key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode == http.StatusAccepted
}
