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

// ErrLocked is returned by New when another process, or another Spool of this one, uses
// Config.Dir and not both have set Config.Shared.
var ErrLocked = errors.New("spool: another process uses the directory")

// folder is the directory. In it are
//
//	spool.lock         held by whoever uses the directory, by several if it is shared
//	events-<id>.db     a file of events; ids sort by the time it was made
//	events-<id>.lock   held by whoever uses that file
//
// A name is used once. A lock that can be had beside a file says that its process has
// ended. The .db is made after its lock is held and removed before the lock is, so
// whoever gets a lock of which the .db is gone has come too late.
type folder struct {
	dir    string
	shared bool
	lock   *flock.Flock // nil unless held
}

const (
	filePrefix = "events-"
	fileSuffix = ".db"

	// lockPatience is how long New waits for a directory that is in use: a tracker whose
	// Close had no time left is just about to leave it.
	lockPatience = time.Second
	lockEvery    = 10 * time.Millisecond
)

// enter makes the directory and locks it, if that can be done within some patience.
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

// claim is the right to use a file of events.
type claim struct {
	path string
	lock *flock.Flock
}

// claimNew returns the claim to a file that is not there yet.
func (f *folder) claimNew() (*claim, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.dir, filePrefix+id.String()+fileSuffix)
	lock := flock.New(lockPath(path))
	held, err := lock.TryLock()
	if err == nil && !held {
		err = fmt.Errorf("%s: locked already", lock.Path())
	}
	if err != nil {
		return nil, err
	}
	return &claim{path, lock}, nil
}

// claimOld returns the claim to a file whose process has ended, or nil if it has not.
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

func lockPath(path string) string { return strings.TrimSuffix(path, fileSuffix) + ".lock" }

func (c *claim) release() { _ = c.lock.Close() }

// remove removes the file, which is not open any more.
func (c *claim) remove() {
	_ = os.Remove(c.path)
	_ = os.Remove(c.lock.Path())
	c.release()
}

// setAside gives a file that cannot be trusted another name, and returns that. The file
// has both until the draft takes its place, so that a crash leaves one or the other.
func (c *claim) setAside(now time.Time) (string, error) {
	aside := c.path + ".corrupt-" + now.UTC().Format("20060102T150405.000000000Z")
	if os.Link(c.path, aside) == nil {
		return aside, nil
	}
	return aside, os.Rename(c.path, aside) // where a file has one name only
}

// draft is where a file is written that is to replace this one.
func (c *claim) draft() string { return c.path + ".new" }

// adoptDraft puts the draft in the file's place.
func (c *claim) adoptDraft() error {
	if err := os.Rename(c.draft(), c.path); err != nil {
		return err
	}
	syncDir(filepath.Dir(c.path))
	return nil
}

// syncDir makes a new name in a directory survive a power failure, where the system can.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
