package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
)

// ErrLocked is returned by [New] if another process, or another Spool of this process, uses
// Config.Dir, unless both have set Config.Shared.
var ErrLocked = errors.New("spool: another process uses the directory")

// folder is the directory. It contains
//
//	spool.lock         locked by the process that uses the directory, shared by several if Config.Shared is set
//	events-<id>.db     a file of events; ids sort by the time of creation
//	events-<id>.lock   locked by the process that uses this file
//	queue-<id>.mem     the memory of a tracker's queue, locked by its process
//
// A name is used once. If the lock of a file is free, its process has ended. The .db is created
// after its lock is taken and removed before the lock is removed. If the .db is missing when a
// process gets the lock, another process has removed both.
type folder struct {
	dir    string
	shared bool
	lock   *flock.Flock // nil unless held
}

const (
	filePrefix = "events-"
	fileSuffix = ".db"

	// lockPatience is how long New waits for a directory that is in use. A tracker whose Close
	// ran out of time may be about to release it.
	lockPatience = time.Second
	lockEvery    = 10 * time.Millisecond
)

// enter creates the directory and locks it. It waits for the lock at most for patience.
func (f *folder) enter(patience time.Duration) error {
	if f.lock != nil {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(f.dir, "spool.lock"))
	try := lock.TryLockContext
	if f.shared {
		try = lock.TryRLockContext
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	held, err := try(ctx, lockEvery)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if !held {
		return fmt.Errorf("%w: %s: set Config.Shared, or another Config.Dir", ErrLocked, f.dir)
	}
	f.lock = lock
	return nil
}

func (f *folder) leave() {
	if f.lock != nil {
		_ = f.lock.Close()
		f.lock = nil
	}
}

// files returns the paths of the files of events, oldest first.
func (f *folder) files() ([]string, error) {
	entries, err := os.ReadDir(f.dir) // sorted
	var paths []string
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, filePrefix) && strings.HasSuffix(name, fileSuffix) {
			paths = append(paths, filepath.Join(f.dir, name))
		}
	}
	return paths, err
}

// claim is the lock of a file of events or of a queue.
type claim struct {
	path string
	lock *flock.Flock
}

// claimNew returns a claim to a new file, which does not exist yet.
func (f *folder) claimNew(prefix, suffix string) (*claim, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.dir, prefix+id.String()+suffix)
	lock := flock.New(lockPath(path))
	held, err := lock.TryLock()
	if err == nil && !held {
		err = fmt.Errorf("%s: already locked", lock.Path())
	}
	if err != nil {
		return nil, err
	}
	return &claim{path, lock}, nil
}

// claimOld returns the claim to a file, or nil if its process is still running.
func claimOld(path string) *claim {
	lock := flock.New(lockPath(path))
	if held, err := lock.TryLock(); err != nil || !held {
		return nil
	}
	c := &claim{path, lock}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		c.remove()
		return nil
	}
	return c
}

// lockPath returns the file that is locked for a path: another one for a file of events, which
// bbolt locks itself and which a draft may replace.
func lockPath(path string) string {
	if events, ok := strings.CutSuffix(path, fileSuffix); ok {
		return events + ".lock"
	}
	return path
}

func (c *claim) release() { _ = c.lock.Close() }

// remove removes the file, which is closed.
func (c *claim) remove() {
	_ = os.Remove(c.path)
	_ = os.Remove(c.lock.Path())
	c.release()
}

// setAside renames a damaged file and returns the new name. The file keeps both names until the
// draft replaces it, so that a crash leaves at least one of them.
func (c *claim) setAside(now time.Time) (string, error) {
	aside := c.path + ".corrupt-" + now.UTC().Format("20060102T150405.000000000Z")
	if os.Link(c.path, aside) == nil {
		return aside, nil
	}
	return aside, os.Rename(c.path, aside) // without hard links
}

// draft is the path of the file's replacement.
func (c *claim) draft() string { return c.path + ".new" }

// adoptDraft replaces the file by its draft.
func (c *claim) adoptDraft() error {
	if err := os.Rename(c.draft(), c.path); err != nil {
		return err
	}
	syncDir(filepath.Dir(c.path))
	return nil
}

// syncDir makes a new name in a directory survive a power failure, if the system can.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
