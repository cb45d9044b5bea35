//go:build ci && linux

package faults

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// smallDisks are disks that are soon full and can get more room.
var smallDisks = []struct {
	name  string
	start func(t *testing.T, flags ...string) *child
}{
	{"a tmpfs of 1 MiB", func(t *testing.T, flags ...string) *child {
		return startWithMounts(t, append(flags, "-tmpfs", "1")...)
	}},
	{"files of at most 1 MiB", func(t *testing.T, flags ...string) *child {
		return start(t, append(flags, "-filelimit", strconv.Itoa(1<<20))...)
	}},
}

// startWithMounts starts a child in a separate mount namespace, so that its mounts end with
// it, and waits until it has opened its tracker.
func startWithMounts(t *testing.T, flags ...string) *child {
	t.Helper()
	namespaces := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		namespaces.Cloneflags |= syscall.CLONE_NEWUSER
		namespaces.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
	}
	c, err := tryStart(t, namespaces, flags...)
	if errors.Is(err, syscall.EPERM) || err == nil && c.failed("mount") {
		t.Skip("this machine does not let tests mount anything")
	}
	require.NoError(t, err)
	return c
}

// failed waits until the child has opened its tracker or ended, and reports whether it
// ended because of what.
func (c *child) failed(what string) bool {
	if _, ok := <-c.said; ok {
		return false // "open"
	}
	return strings.Contains(c.logged(), what)
}

// fullEvents events fill the disk and fit into the tracker's memory.
const (
	fullEvents = 2500
	fullRate   = "2000"
	fullPad    = "500"
)

// eachFullDisk fills each small disk while the API is down.
func eachFullDisk(t *testing.T, test func(t *testing.T, c *child, full report, api *deadPort)) {
	t.Parallel()
	for _, disk := range smallDisks {
		t.Run(disk.name, func(t *testing.T) {
			t.Parallel()
			api := newDeadPort(t)
			c := disk.start(t, "-api", api.URL, "-dir", t.TempDir(), "-interval", "10ms",
				"-rate", fullRate, "-count", strconv.Itoa(fullEvents), "-pad", fullPad)
			c.expect("tracked")
			full := c.until(func(r report) bool { return r.Spool.Degraded })
			assert.Positive(t, full.Spool.Events, "what was stored before the disk was full")
			assert.Positive(t, full.Tracker.Queued, "what is in memory since")
			assert.Zero(t, full.Tracker.Refused+full.Tracker.Dropped)
			test(t, c, full, api)
			assert.Equal(t, 1, strings.Count(c.logged(), "level=ERROR"), "lines of ERROR")
		})
	}
}

func assertAllOnce(t *testing.T, api *footfalltest.API) {
	t.Helper()
	assert.Len(t, api.Events(), fullEvents)
	assertArrived(t, api, slices.Collect(numbers(fullEvents)))
	assertOneKeyAndBody(t, api)
}

func TestWhileTheDiskIsFullEventsAreDeliveredFromMemory(t *testing.T) {
	eachFullDisk(t, func(t *testing.T, c *child, full report, dead *deadPort) {
		api := footfalltest.NewAPI(t)
		dead.comeUp(t, api)
		r := c.until(func(r report) bool { return r.Tracker.Delivered >= full.Tracker.Queued })
		assert.Zero(t, r.Tracker.Refused+r.Tracker.Dropped)
		c.tell("room") // before, the events of the file cannot be read or deleted
		require.Equal(t, "<nil>", c.expect("room"))
		c.flush()
		assertAllOnce(t, api)
		assert.Equal(t, uint64(fullEvents), c.end().Tracker.Delivered)
	})
}

func TestADiskThatHasRoomAgainIsUsedAgain(t *testing.T) {
	eachFullDisk(t, func(t *testing.T, c *child, _ report, dead *deadPort) {
		c.tell("room")
		require.Equal(t, "<nil>", c.expect("room"))
		r := c.until(func(r report) bool { return !r.Spool.Degraded && r.Tracker.Queued == 0 })
		assert.Equal(t, uint64(fullEvents), r.Tracker.Stored, "what was in memory is in the file")
		assert.Equal(t, uint64(fullEvents), r.Spool.Events)
		api := footfalltest.NewAPI(t)
		dead.comeUp(t, api)
		c.flush()
		assertAllOnce(t, api)
		assert.Equal(t, uint64(fullEvents), c.end().Tracker.Delivered)
	})
}

func TestAReadOnlyDirectoryIsLoggedOnceAndUsedWhenItIsWritable(t *testing.T) {
	t.Parallel()
	dir, api := t.TempDir(), footfalltest.NewAPI(t)
	promised := fillAndKill(t, dir)
	const events = 100
	c := startWithMounts(t, "-readonly", "-api", api.URL, "-dir", dir,
		"-first", strconv.Itoa(perRound), "-rate", fullRate, "-count", strconv.Itoa(events))
	c.expect("tracked")
	r := c.until(func(r report) bool { return r.Tracker.Delivered == events })
	assert.True(t, r.Spool.Degraded)
	assert.Len(t, api.Events(), events, "from memory")
	c.tell("room")
	require.Equal(t, "<nil>", c.expect("room"))
	c.flush()
	r = c.end()
	assert.False(t, r.Spool.Degraded)
	assert.GreaterOrEqual(t, len(api.Events()), events+len(promised))
	assertArrived(t, api, promised)
	assert.Equal(t, 1, strings.Count(c.logged(), "level=ERROR"), "lines of ERROR")
}
