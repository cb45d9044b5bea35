package sqlite

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// file is an open file of a store.
type file struct {
	path    string
	lock    io.Closer
	closing context.Context // ended by end, when the store closes
	end     context.CancelFunc
	broken  atomic.Pointer[error] // the first damage that was found
}

// enter starts every method of the store that takes a context.
func (f *file) enter(ctx context.Context) error {
	if f.closing.Err() != nil {
		return store.ErrClosed
	}
	return ctx.Err()
}

// failed returns the error of a report for its caller.
func (f *file) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // SQLite reports an interrupt
	case f.closing.Err() != nil:
		return store.ErrClosed
	}
	f.noteBroken(err)
	return f.named(err)
}

// named adds the name of the file to an error that has none.
func (f *file) named(err error) error { return named(f.path, err) }

func named(file string, err error) error {
	if _, named := errors.AsType[*fileError](err); named {
		return err
	}
	return &fileError{file, err}
}

// fileError is an error with the name of the file.
type fileError struct {
	file string
	err  error
}

func (e *fileError) Error() string { return "sqlite: " + e.file + ": " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// Is implements the interface that errors.Is looks for.
func (e *fileError) Is(target error) bool { return target == store.ErrFull && isFull(e.err) }

// makeFile creates the file and its directory if necessary, readable only by their owner.
// SQLite by itself would use the umask.
func makeFile(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// resolve follows symbolic links, so that all paths of a file have one lock and one log.
func resolve(file string) string {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		return target
	}
	return file
}

// dsn returns a data source name and escapes all characters of the path.
func dsn(file string) string {
	if absolute, err := filepath.Abs(file); err == nil {
		file = filepath.ToSlash(absolute)
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: file}
	return u.String() + "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=cache_size(-16000)&_pragma=trusted_schema(0)"
}

func (f *file) firstDamage() error {
	if err := f.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// noteBroken keeps the first error that says that the file is damaged, unless that was reported before.
func (f *file) noteBroken(err error) {
	if isUnreported(err) && f.broken.Load() == nil {
		err = f.named(err)
		f.broken.CompareAndSwap(nil, &err)
	}
}

func isDamage(err error) bool {
	if errors.Is(err, colstore.ErrDamaged) {
		return true
	}
	if of, ok := errors.AsType[*driver.Error](err); ok {
		primary := of.Code() & 0xff
		return primary == codes.SQLITE_CORRUPT || primary == codes.SQLITE_NOTADB
	}
	return false
}

// isFull reports whether the disk has no space.
func isFull(err error) bool {
	if of, ok := errors.AsType[*driver.Error](err); ok {
		return of.Code()&0xff == codes.SQLITE_FULL
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// background is the context of the writer's statements. A caller's context would interrupt
// the transaction for all others.
var background = context.Background()

// syncDir makes the name of a new file durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
