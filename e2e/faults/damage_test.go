//go:build ci && linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// intact is the directory of a killed process and its content.
type intact struct {
	dir      string
	file     string            // the name of the file with the events
	data     []byte            // of that file
	bodies   map[string]string // Idempotency-Key to body
	promised []int64
}

func newIntact(t *testing.T) *intact {
	t.Helper()
	s := &intact{dir: t.TempDir(), bodies: make(map[string]string)}
	s.promised = fillAndKill(t, s.dir)
	entries, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		require.NoError(t, err)
		if filepath.Ext(e.Name()) == ".db" && // not the queue's memory
			len(data) > len(s.data) {
			s.file, s.data = e.Name(), data
		}
	}
	api := s.deliver(t, s.data)
	for _, r := range api.Requests() {
		s.bodies[r.ID] = string(r.Body)
	}
	assertArrived(t, api, s.promised)
	return s
}

// deliver lets a process deliver from a directory whose file has this data. It fails the
// test if the process crashes.
func (s *intact) deliver(t *testing.T, data []byte) *footfalltest.API {
	t.Helper()
	api, _ := s.deliverIn(t, t.TempDir(), data)
	return api
}

func (s *intact) deliverIn(t *testing.T, dir string, data []byte) (*footfalltest.API, report) {
	t.Helper()
	require.NoError(t, os.CopyFS(dir, os.DirFS(s.dir)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, s.file), data, 0o600))
	api := footfalltest.NewAPI(t)
	c := start(t, "-api", api.URL, "-dir", dir)
	c.flush()
	return api, c.end()
}

// assertHonest delivers from damaged data. It asserts that only events of the undamaged file
// arrive, and that the file is set aside unless all of them do.
func (s *intact) assertHonest(t *testing.T, data []byte) (delivered int, setAside bool) {
	t.Helper()
	dir := t.TempDir()
	api, r := s.deliverIn(t, dir, data)
	for _, request := range api.Requests() {
		require.Equal(t, s.bodies[request.ID], string(request.Body), "an event was sent with a wrong key or wrong bytes")
		require.True(t, json.Valid(request.Body))
	}
	aside, err := filepath.Glob(filepath.Join(dir, "*.corrupt-*"))
	require.NoError(t, err)
	delivered = len(api.Events())
	if delivered < len(s.bodies) && len(data) > 0 { // an empty file is a new file, not a damaged one
		assert.NotEmpty(t, aside, "%d of %d events arrived, and nothing was set aside", delivered, len(s.bodies))
		assert.False(t, r.Spool.Degraded, "after a damaged file a new one is begun")
	}
	return delivered, len(aside) > 0
}

func TestAFlippedBitAnywhereInTheFileIsHarmless(t *testing.T) {
	t.Parallel()
	s := newIntact(t)
	var mu sync.Mutex
	whole, aside, partly := 0, 0, 0
	inTurn(t, len(s.data)/512, func(t *testing.T, i int) {
		damaged := append([]byte(nil), s.data...)
		at := i*512 + i*37%512 // at varying offsets in a page
		damaged[at] ^= 1 << (i % 8)
		delivered, set := s.assertHonest(t, damaged)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case delivered == len(s.bodies):
			whole++
		case delivered > 0:
			partly++
		}
		if set {
			aside++
		}
	})
	t.Logf("%s of %d bytes: of %d damaged copies %d delivered everything, %d a part; %d were set aside",
		s.file, len(s.data), len(s.data)/512, whole, partly, aside)
}

func TestATruncatedFileIsHarmless(t *testing.T) {
	t.Parallel()
	s := newIntact(t)
	page := os.Getpagesize()
	sizes := []int{0, 1, 511, 512, page - 1, page, 2 * page, 3 * page, 4 * page, 5*page + 7}
	for size := 8 * page; size < len(s.data); size += len(s.data) / 16 {
		sizes = append(sizes, size)
	}
	sizes = append(sizes, len(s.data)-page, len(s.data)-1)
	inTurn(t, len(sizes), func(t *testing.T, i int) {
		s.assertHonest(t, s.data[:min(sizes[i], len(s.data))])
	})
}

// inTurn runs a test for each number and returns when all are over.
func inTurn(t *testing.T, n int, test func(t *testing.T, i int)) {
	t.Helper()
	t.Run("copy", func(t *testing.T) {
		for i := range n {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				test(t, i)
			})
		}
	})
}

func TestTruncatingTheFileOfARunningProcessDoesNotEndIt(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 4096, 20_000} {
		t.Run(fmt.Sprintf("to %d bytes", size), func(t *testing.T) {
			t.Parallel()
			dir, dead := t.TempDir(), newDeadPort(t)
			c := start(t, "-api", dead.URL, "-dir", dir, "-rate", "500", "-interval", "5ms", "-count", "1000")
			c.until(func(r report) bool { return r.Tracker.Stored > 300 })
			for _, path := range filesOver(t, dir, size) {
				require.NoError(t, os.Truncate(path, size))
			}
			c.expect("tracked")
			api := footfalltest.NewAPI(t)
			dead.comeUp(t, api)
			c.flush()
			assertOneKeyAndBody(t, api)
			r := c.end()
			assert.Equal(t, uint64(1000), r.Tracker.Tracked)
			assert.Contains(t, strings.ToUpper(c.logged()), "ERROR")
		})
	}
}

func filesOver(t *testing.T, dir string, size int64) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		if info.Size() > size {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
