package sqlite

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockItself locks a file until the returned Closer is closed. On Linux such a lock does not
// interfere with the locks of SQLite (flock(2) and fcntl(2)).
func lockItself(file string) (io.Closer, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return io.NopCloser(nil), nil // there is nothing to lock
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return held{f}, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errTaken
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EOPNOTSUPP):
		return f, nil // a file system without such locks
	}
	return nil, errors.Join(err, f.Close())
}

// held is a file that is locked.
type held struct{ *os.File }

// Close ends the lock, and does not leave that to the last descriptor: a child process has copies of
// all descriptors from fork(2) until execve(2).
func (h held) Close() error {
	return errors.Join(syscall.Flock(int(h.Fd()), syscall.LOCK_UN), h.File.Close())
}
