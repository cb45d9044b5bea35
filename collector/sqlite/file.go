package sqlite

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// fileError is an error with the name of the file.
type fileError struct {
	file string
	err  error
}

func (e *fileError) Error() string { return "sqlite: " + e.file + ": " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

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

// noteBroken keeps the first error that says that the file is damaged.
func (s *Store) noteBroken(err error) {
	if isDamage(err) && s.broken.Load() == nil {
		if _, named := errors.AsType[*fileError](err); !named {
			err = &fileError{s.file, err}
		}
		s.broken.CompareAndSwap(nil, &err)
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
